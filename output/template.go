package output

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// tagName says how a known name is treated as a token in angle brackets.
type tagName uint8

const (
	// piped names are tokens as <|name|>, also with blanks inside.
	piped tagName = 1 << iota
	// plainTag names are tokens as <name> and </name>, in any case.
	plainTag
	// exactTag names are tokens only without blanks and in lower case,
	// because they are short enough to be something else.
	exactTag
	// halfPiped names are tokens as <|name> and <name|>.
	halfPiped
	// attrTag names are tokens as <name>, </name> and <name key="value">.
	attrTag
	// valueTag names are tokens as <name=value>.
	valueTag
)

// tagNames lists the special tokens of model families as their tokenizer
// configurations publish them. A name in pipes that is not here is still a
// token when no blank is inside, since nothing else is written so.
var tagNames = map[string]tagName{
	// ChatML, GPT, Phi, Granite, Harmony
	"im_start": piped, "im_end": piped, "im_sep": piped, "im_middle": piped,
	"endoftext": piped, "startoftext": piped, "endofprompt": piped,
	"fim_prefix": piped | plainTag, "fim_middle": piped | plainTag, "fim_suffix": piped | plainTag,
	"fim_pad": piped | plainTag, "system": piped, "user": piped, "assistant": piped,
	"developer": piped, "observation": piped, "end": piped, "start": piped,
	"message": piped, "channel": piped | halfPiped, "constrain": piped, "call": piped,
	"return": piped, "start_of_role": piped, "end_of_role": piped, "end_of_text": piped,
	// Llama 3 and 4
	"begin_of_text": piped, "start_header_id": piped, "end_header_id": piped,
	"eot_id": piped, "eom_id": piped, "python_tag": piped, "finetune_right_pad_id": piped,
	"header_start": piped, "header_end": piped, "eot": piped, "eom": piped, "step": piped,
	// Llama 2, Gemma, GLM
	"s": exactTag, "bos": plainTag, "eos": plainTag, "unk": exactTag, "pad": exactTag,
	"start_of_turn": plainTag, "end_of_turn": plainTag, "sop": exactTag, "eop": exactTag,
	"start_of_image": plainTag, "end_of_image": plainTag,
	"turn": piped | halfPiped, "tool": piped | halfPiped, "image": piped | halfPiped,
	"audio": piped | halfPiped,
	// Command R
	"start_of_turn_token": piped, "end_of_turn_token": piped, "system_token": piped,
	"user_token": piped, "chatbot_token": piped, "bos_token": plainTag, "eos_token": plainTag,
	// Qwen, Hermes, DeepSeek
	"tool_call": piped | plainTag | halfPiped, "tool_calls": piped | plainTag,
	"tool_response": piped | plainTag | halfPiped, "tool_result": piped | plainTag,
	"think": piped | plainTag | halfPiped, "file_sep": piped | plainTag,
	"begin_of_sentence": piped, "end_of_sentence": piped,
	// StarCoder 2 and Qwen Coder (special_tokens_map.json of each); <filename> and
	// <pr> are left out, which texts have for other things
	"repo_name": piped | plainTag, "reponame": piped | plainTag, "gh_stars": plainTag, "issue_start": plainTag,
	"issue_comment": plainTag, "issue_closed": plainTag, "jupyter_start": plainTag, "jupyter_text": plainTag,
	"jupyter_code": plainTag, "jupyter_output": plainTag, "jupyter_script": plainTag, "empty_output": plainTag,
	"commit_before": plainTag, "commit_msg": plainTag, "commit_after": plainTag,
	// Llama 3.1, Qwen 3 Coder: calls as <function=name> (chat_template of each)
	"function": valueTag, "parameter": valueTag,
	// agent hosts
	"system-reminder": plainTag, "function_calls": plainTag, "function_results": plainTag,
	"ant" + "ml:function_calls": plainTag, "ant" + "ml:function_results": plainTag,
	"invoke": attrTag, "ant" + "ml:invoke": attrTag, "ant" + "ml:parameter": attrTag, "use_mcp_tool": attrTag,
}

// bracketNames lists the control tokens of Mistral (mistral-common, tekken.json)
// and GLM (tokenizer_config.json). Those of GLM are written in both cases; true
// says so.
var bracketNames = map[string]bool{
	"inst": false, "/inst": false, "available_tools": false, "/available_tools": false,
	"tool_calls": false, "/tool_calls": false, "tool_results": false, "/tool_results": false,
	"tool_content": false, "/tool_content": false, "system_prompt": false, "/system_prompt": false,
	"model_settings": false, "/model_settings": false, "think": false, "/think": false,
	"args": false, "call_id": false, "img": false, "img_break": false, "img_end": false,
	"audio": false, "begin_audio": false, "prefix": false, "middle": false, "suffix": false,
	"gmask": true, "smask": true,
}

// roles follow <|im_start|> and go with it.
var roles = [...]string{"system", "user", "assistant", "tool", "developer"}

// chatSpeakers are the names that open a turn after a blank line.
var chatSpeakers = [...]string{"Human", "Assistant"}

// literals are tokens of other shapes: MiniMax.
var literals = [...]string{"]~b]", "]~!b[", "[e~["}

func templateAnchors() []anchor {
	all := []anchor{pairAnchor("<|", ruleTag, 0), headAnchor("<<s", ruleTag, 0), headAnchor("<</", ruleTag, 0)}
	add := func(s string, r anchorRule) {
		if a, ok := rarestAnchor(s, r, 0); ok && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	for name, t := range tagNames {
		if t&(plainTag|exactTag) != 0 {
			add("<"+name+">", ruleTag)
			add("</"+name+">", ruleTag)
		}
		if t&attrTag != 0 {
			add("<"+name, ruleTag)
			add("</"+name, ruleTag)
		}
		if t&valueTag != 0 {
			add("<"+name+"=", ruleTag)
		}
		if t&halfPiped != 0 {
			add("<"+name+"|", ruleTag)
		}
	}
	for name := range bracketNames {
		add("["+name+"]", ruleBracket)
	}
	for i, t := range chatSpeakers {
		all = append(all, tailAnchor(t+":", ruleChatMarker, i))
	}
	for i, l := range literals {
		all = append(all, headAnchor(l, ruleLiteral, i))
	}
	return all
}

// skipHidden returns the index after hidden characters and, when they are
// allowed, blanks at i, and whether there were blanks.
func skipHidden(s string, i int, blanks bool) (end int, spaced bool) {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if !blanks || c != ' ' && c != '\t' {
				break
			}
			spaced = true
			i++
			continue
		}
		r, n := decodeRune(s, i)
		c := basicPlane().classOf(r)
		if c&hidden == 0 && (c&blank == 0 || !blanks) {
			break
		}
		spaced = spaced || c&blank != 0
		i += n
	}
	return i, spaced
}

// foldToASCII reads the character at i as the ASCII character that it is or
// looks like, 0 for any other.
func foldToASCII(s string, i int) (b byte, end int) {
	if i >= len(s) {
		return 0, i
	}
	if s[i] < utf8.RuneSelf {
		return s[i], i + 1
	}
	r, n := decodeRune(s, i)
	if basicPlane().classOf(r)&alike == 0 {
		return 0, i + n
	}
	return lookalikeASCII(r), i + n
}

// tagReader reads the parts of a tag.
type tagReader struct {
	s string
	i int
	// spaced says that blanks were skipped, upper that a name had capitals,
	// lower that it had small letters.
	spaced, upper, lower bool
	name                 [longestName]byte
}

// longestName bounds the name of a token.
const longestName = 48

// acceptByte skips the character b, after blanks, and reports whether it was
// there.
func (t *tagReader) acceptByte(b byte) bool {
	i, spaced := skipHidden(t.s, t.i, true)
	c, end := foldToASCII(t.s, i)
	if c != b {
		return false
	}
	t.i, t.spaced = end, t.spaced || spaced
	return true
}

// readName reads a name in small letters, after blanks.
func (t *tagReader) readName() []byte {
	i, spaced := skipHidden(t.s, t.i, true)
	t.spaced = t.spaced || spaced
	name := t.name[:0]
	for len(name) < longestName {
		i, _ = skipHidden(t.s, i, false)
		b, end := foldToASCII(t.s, i)
		switch {
		case isUpper(b):
			b, t.upper = b|0x20, true
		case isLower(b):
			t.lower = true
		case !isDigit(b) && (b == 0 || strings.IndexByte("_-.:/", b) < 0):
			t.i = i
			return name
		}
		name, i = append(name, b), end
	}
	t.i = i
	return name
}

// findTag looks for a template token in angle brackets that begins at start.
func findTag(s string, start, _ int) (markedSpan, bool) {
	t := tagReader{s: s, i: start}
	if !t.acceptByte('<') {
		return markedSpan{}, false
	}
	ok := false
	switch {
	case t.acceptByte('|'):
		ok = t.readPiped()
	case t.acceptByte('<'):
		ok = t.readSys()
	default:
		t.acceptByte('/')
		ok = t.readPlain()
	}
	return markedSpan{start, t.i, markTemplate}, ok
}

// readPlain reads name> or name|>.
func (t *tagReader) readPlain() bool {
	known := tagNames[string(t.readName())]
	switch {
	case known&halfPiped != 0 && t.acceptByte('|'):
		return t.acceptByte('>')
	case known&attrTag != 0:
		return t.skipAttributes()
	case known&valueTag != 0 && t.acceptByte('='):
		return t.skipAttributes()
	case known&plainTag != 0:
		return t.acceptByte('>')
	case known&exactTag != 0:
		return t.acceptByte('>') && !t.spaced && !t.upper
	default:
		return false
	}
}

// maxAttributes bounds what follows the name of a tag.
const maxAttributes = 512

// skipAttributes skips what follows a name up to the end of the tag. Without
// an end the beginning is a token too; a longer word is another name.
func (t *tagReader) skipAttributes() bool {
	if t.i < len(t.s) && isWord(t.s[t.i]) && !t.acceptByte('=') && t.s[t.i-1] != '=' {
		return false
	}
	for k := t.i; k < len(t.s) && k-t.i < maxAttributes; {
		b, end := foldToASCII(t.s, k)
		if b == '<' {
			break
		}
		if k = end; b == '>' {
			t.i = k
			break
		}
	}
	return true
}

// readPiped reads name|> and the role that ChatML puts after its start.
func (t *tagReader) readPiped() bool {
	name := t.readName()
	known := tagNames[string(name)]
	if known&halfPiped != 0 && t.acceptByte('>') {
		return !t.spaced
	}
	if len(name) == 0 || !t.acceptByte('|') || !t.acceptByte('>') || t.spaced && known == 0 {
		return false
	}
	if string(name) != "im_start" {
		return true
	}
	for _, r := range roles {
		if rest, ok := strings.CutPrefix(t.s[t.i:], r); ok && (rest == "" || !isWord(rest[0])) {
			t.i += len(r)
			break
		}
	}
	return true
}

// readSys reads SYS>> or /SYS>>.
func (t *tagReader) readSys() bool {
	t.acceptByte('/')
	return string(t.readName()) == "sys" && t.acceptByte('>') && t.acceptByte('>')
}

// findBracket looks for a token in square brackets that begins at start. In
// small letters, which no tokenizer takes, it is a list or an index in code
// unless it begins a line.
func findBracket(s string, start, _ int) (markedSpan, bool) {
	t := tagReader{s: s, i: start}
	if !t.acceptByte('[') {
		return markedSpan{}, false
	}
	mixed, known := bracketNames[string(t.readName())]
	if !known || !t.acceptByte(']') {
		return markedSpan{}, false
	}
	if line := blanksStart(s, start); t.lower && !(mixed && t.upper) && line > 0 && s[line-1] != '\n' {
		return markedSpan{}, false
	}
	return markedSpan{start, t.i, markTemplate}, true
}

// findChatMarker looks for a name that opens a turn: alone at the beginning
// of a line after an empty one, its colon before end. The beginning of the
// text counts as an empty line, since the code that shows the text may put one
// there.
func findChatMarker(s string, end, speaker int) (markedSpan, bool) {
	name, i := chatSpeakers[speaker], end-1
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	i = blanksStart(s, i)
	if i < len(name) || s[i-len(name):i] != name {
		return markedSpan{}, false
	}
	i = blanksStart(s, i-len(name))
	if i == 0 || s[i-1] != '\n' {
		return markedSpan{}, false
	}
	i = blanksStart(s, returnStart(s, i-1))
	if i > 0 {
		if s[i-1] != '\n' {
			return markedSpan{}, false
		}
		i = returnStart(s, i-1)
	}
	return markedSpan{i, end, markTemplate}, true
}

// blanksStart returns the start of the blanks before i.
func blanksStart(s string, i int) int {
	for i > 0 && (s[i-1] == ' ' || s[i-1] == '\t') {
		i--
	}
	return i
}

// returnStart returns the index of a carriage return before i, else i.
func returnStart(s string, i int) int {
	if i > 0 && s[i-1] == '\r' {
		i--
	}
	return i
}

// findLiteral looks for a token whose first symbols, up to ten, end at end.
func findLiteral(s string, end, literal int) (markedSpan, bool) {
	before, ok := strings.CutSuffix(s[:end], literals[literal])
	return markedSpan{len(before), end, markTemplate}, ok
}
