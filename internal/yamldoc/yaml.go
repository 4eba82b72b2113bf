package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxFlowDepth bounds nested brackets, maxBlockColumn the column of a
	// structural character outside brackets, which bounds block nesting. The
	// parser recurses, and a Go stack that overflows cannot be recovered.
	maxFlowDepth   = 64
	maxBlockColumn = 256
)

// parseYAML returns the tree of the first document. It goes on after a
// construct that is refused, whose node is opaque; after a syntax error the
// tree is nil. The text may have most keys.
func parseYAML(text fileText, most int) (root *Value, faults []TextFault) {
	defer func() {
		// The parser is a dependency that reads text from outside; a panic
		// in it is a file that cannot be read, not the end of a server.
		if p := recover(); p != nil {
			root, faults = nil, append(faults, TextFault{Position{1, 1}, "the file cannot be read as YAML"})
		}
	}()
	text, faults, ok := plainLines(text)
	if !ok {
		return nil, faults
	}
	at := &tokenPositions{lines: text.lines}
	tokens := lexer.Tokenize(text.text)
	end, more, ok := scanTokens(at, tokens, most)
	if faults = append(faults, more...); !ok {
		return nil, faults
	}
	tokens = tokens[:end]
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, append(faults, syntaxFault(at, err))
	}
	y := yamlReader{at: at, seen: make(map[*token.Token]bool, len(tokens))}
	for _, doc := range file.Docs {
		if _, isDirective := doc.Body.(*ast.DirectiveNode); doc.Body != nil && !isDirective && root == nil {
			root = y.convertNode(doc.Body)
		}
	}
	faults = append(faults, y.faults...)
	if lost := y.findLost(tokens); lost != nil && len(faults) == 0 {
		faults = append(faults, TextFault{at.positionOf(lost), "this text belongs to no key: check the indentation and quotes"})
	}
	return root, faults
}

// plainLines refuses tabs that a reader of the file or the library could take
// for something else: the library miscounts columns behind a tab and drops one
// inside a text. Before a comment and at the end of a line they do no harm. The
// text is returned with spaces in their place, so that the rest of the file is
// judged too, and without blanks at the ends of lines, behind which the library
// miscounts as well; ok is false when the indentation is lost.
func plainLines(text fileText) (out fileText, faults []TextFault, ok bool) {
	out.lines, ok = make([]string, len(text.lines)), true
	for i, line := range text.lines {
		out.lines[i] = strings.ReplaceAll(line, "\t", " ")
		// A backslash before the blanks escapes the first of them.
		if end := strings.TrimRight(out.lines[i], " "); !strings.HasSuffix(end, `\`) {
			out.lines[i] = end
		}
		tab := strings.IndexByte(line, '\t')
		if tab < 0 || strings.Contains(line[:tab], " #") || strings.HasPrefix(line, "#") {
			continue
		}
		rest := strings.TrimLeft(line[tab:], " \t")
		if rest == "" || rest[0] == '#' {
			continue
		}
		at := Position{i + 1, utf8.RuneCountInString(line[:tab]) + 1}
		if strings.TrimLeft(line[:tab], " -") == "" {
			ok = false
			faults = append(faults, TextFault{at, "a tab in the indentation: expected spaces"})
			continue
		}
		faults = append(faults, TextFault{at, `a tab: expected spaces, or "\t" in double quotes`})
	}
	out.text = strings.Join(out.lines, "\n")
	return out, faults, ok
}

// scanTokens refuses what no text needs and what would cost
// the parser too much. It returns the number of tokens of the first document;
// ok is false when the parser must not run.
func scanTokens(places *tokenPositions, tokens token.Tokens, most int) (end int, faults []TextFault, ok bool) {
	var depth, keys, directiveLine int
	var content, closed bool
	for i, tk := range tokens {
		at := places.positionOf(tk)
		refuse := func(message string) { faults = append(faults, TextFault{at, message}) }
		if closed && tk.Type != token.CommentType && tk.Type != token.DocumentEndType {
			refuse("a second document: expected one document per file")
			return i, faults, true
		}
		switch tk.Type {
		case token.DocumentHeaderType:
			if content {
				refuse("a second document: expected one document per file")
				return i, faults, true
			}
		case token.DocumentEndType:
			closed = true
		case token.CommentType:
			continue
		case token.AnchorType, token.AliasType:
			refuse("anchors and aliases are not accepted: write the value out")
		case token.MergeKeyType:
			refuse("merge keys are not accepted: write the keys out")
		case token.TagType:
			refuse("tags are not accepted: write the plain value")
		case token.DirectiveType:
			directiveLine = at.Line
			refuse("directives are not accepted: remove this line")
		case token.MappingKeyType:
			refuse(`explicit keys are not accepted: write "key: value"`)
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth = max(depth-1, 0)
		case token.MappingValueType:
			keys++
		}
		if why := tooMuch(tk, depth, keys, most); why != "" {
			refuse(why)
			return 0, faults, false
		}
		content = content || at.Line != directiveLine && tk.Type != token.DocumentHeaderType
	}
	return len(tokens), faults, true
}

func tooMuch(tk *token.Token, depth, keys, most int) string {
	block := depth == 0 && (tk.Type == token.SequenceEntryType || tk.Type == token.MappingKeyType || tk.Type == token.MappingValueType)
	switch {
	case depth > maxFlowDepth:
		return fmt.Sprintf("nested too deep: at most %d brackets", maxFlowDepth)
	case block && tk.Position.Column > maxBlockColumn:
		return fmt.Sprintf("nested too deep: keys and list items begin before column %d", maxBlockColumn)
	case keys > most:
		return fmt.Sprintf("more than %d keys in one file", most)
	default:
		return ""
	}
}

// tokenPositions finds where tokens are. It keeps the last line, since tokens
// come in the order of the file and a file may be one line.
type tokenPositions struct {
	lines []string
	line  int
	runes []rune
}

// positionOf returns the place of a token.
func (p *tokenPositions) positionOf(tk *token.Token) Position {
	if tk == nil || tk.Position == nil {
		return Position{1, 1}
	}
	at := Position{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
	if at.Line > len(p.lines) {
		return Position{len(p.lines), 1}
	}
	return at
}

func syntaxFault(at *tokenPositions, err error) TextFault {
	if e, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		return TextFault{at.positionOf(e.Token), "not YAML: " + e.Message}
	}
	return TextFault{Position{1, 1}, "not YAML"}
}

// yamlReader turns the library's tree into nodes and remembers which tokens
// it met.
type yamlReader struct {
	at     *tokenPositions
	seen   map[*token.Token]bool
	faults []TextFault
}

// findLost returns the first token with content that is in no node. The parser
// accepts some texts of which it drops a part, and a policy must not.
func (y *yamlReader) findLost(tokens token.Tokens) *token.Token {
	for _, tk := range tokens {
		switch tk.Type {
		case token.StringType, token.SingleQuoteType, token.DoubleQuoteType, token.NullType, token.BoolType,
			token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType,
			token.FloatType, token.InfinityType, token.NanType, token.LiteralType, token.FoldedType:
			if !y.seen[tk] {
				return tk
			}
		}
	}
	return nil
}

func (y *yamlReader) convertNode(n ast.Node) *Value {
	if n == nil {
		return &Value{Kind: KindOpaque, At: Position{1, 1}}
	}
	tk := n.GetToken()
	y.seen[tk] = true
	out := &Value{At: y.at.positionOf(tk)}
	switch n := n.(type) {
	case *ast.NullNode:
		out.Kind = KindNull
	case *ast.StringNode:
		out.Kind, out.Text = KindText, n.Value
		y.verifyText(out, tk)
		// The library takes 1e3 for text, which is a number (YAML 1.2.2,
		// section 10.3.2).
		if tk.Type == token.StringType && isNumber(n.Value) {
			out.Kind = KindNumber
		}
	case *ast.LiteralNode:
		out.Kind = KindText
		if n.Value != nil {
			y.seen[n.Value.GetToken()] = true
			out.Text = n.Value.Value
			y.verifyText(out, tk)
		}
	case *ast.BoolNode:
		out.Kind, out.Text = KindBool, tk.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = KindNumber, tk.Value
	case *ast.SequenceNode:
		out.Kind = KindList
		for _, item := range n.Values {
			read := y.convertNode(item)
			if n.IsFlowStyle {
				y.rejoinText(item, read)
			}
			out.Items = append(out.Items, read)
		}
	case *ast.MappingNode:
		out.Kind = KindMapping
		for _, pair := range n.Values {
			y.convertPair(out, pair)
		}
		if !n.IsFlowStyle && len(out.Fields) > 0 {
			out.At = out.Fields[0].At
		}
	case *ast.MappingValueNode:
		out.Kind = KindMapping
		y.convertPair(out, n)
		out.At = out.Fields[0].At
	case *ast.AnchorNode:
		return y.convertWrapped(n.Name, n.Value)
	case *ast.TagNode:
		return y.convertWrapped(nil, n.Value)
	case *ast.AliasNode:
		y.convertWrapped(nil, n.Value)
		out.Kind = KindOpaque
	default:
		out.Kind = KindOpaque
	}
	return out
}

// verifyText refuses a text that the library did not read as it stands.
func (y *yamlReader) verifyText(n *Value, tk *token.Token) {
	s := stylePlain
	switch tk.Type {
	case token.SingleQuoteType:
		s = styleSingle
	case token.DoubleQuoteType:
		s = styleDouble
	case token.LiteralType, token.FoldedType:
		s = styleBlock
	}
	if !y.at.matchesSource(n.At, n.Text, s) {
		y.faults = append(y.faults, TextFault{n.At, "this text cannot be read as it stands: write it on one line in double quotes"})
	}
}

// convertWrapped reads the value behind a refused anchor or tag, whose faults the
// user wants to hear too.
func (y *yamlReader) convertWrapped(name, value ast.Node) *Value {
	if name != nil {
		y.seen[name.GetToken()] = true
	}
	return y.convertNode(value)
}

// convertPair appends one key and value. A key that is not text keeps its literal
// and is checked by the code that knows which names are valid.
func (y *yamlReader) convertPair(out *Value, pair *ast.MappingValueNode) {
	key := y.convertKey(pair.Key)
	value := y.convertNode(pair.Value)
	if key.Kind == KindOpaque {
		value.Kind = KindOpaque
	}
	out.Fields = append(out.Fields, Field{Name: key.Text, At: key.At, Value: value})
}

func (y *yamlReader) convertKey(k ast.MapKeyNode) *Value {
	y.seen[k.GetToken()] = true
	if explicit, ok := k.(*ast.MappingKeyNode); ok {
		key := y.convertNode(explicit.Value)
		key.Kind = KindOpaque
		return key
	}
	if merge, ok := k.(*ast.MergeKeyNode); ok {
		return &Value{Kind: KindOpaque, At: y.at.positionOf(merge.GetToken())}
	}
	key := y.convertNode(k)
	if key.Kind != KindText {
		key.Text = k.GetToken().Value
	}
	return key
}
