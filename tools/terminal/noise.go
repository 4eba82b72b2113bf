package terminal

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// noiseKind is a kind of line that says nothing once the command has ended.
type noiseKind struct {
	// label says what the lines are, in the plural.
	label string
	line  func() *regexp.Regexp
	// sure lines are left out even when they hold a word of trouble, which
	// may be a part of a name.
	sure bool
}

// trouble is what a line may hold that is never left out, unless the whole
// line is known.
var trouble = text.Pattern(`(?i)error|fail|fatal|panic|warn|denied|refus|cannot|could not|not found|exception|traceback|` +
	`vulnerab|deprecat|conflict|abort|unable|invalid|missing|killed|timed? ?out|^E:|^W:|!!`)

// testNoise is what test runners say about what passed.
var testNoise = append([]noiseKind{
	{"lines of passing tests", text.Pattern(`^\s*(?:--- PASS: \S+ \([0-9.]+s\)|=== (?:RUN|PAUSE|CONT|NAME)\s+\S+)$`), true},
	{"lines of passing tests", text.Pattern(`^test \S+(?: - should panic)? \.\.\. (?:ok|ignored)$`), true},
	{"lines of passing tests", text.Pattern(`^\S+::\S+ (?:PASSED|XFAIL)\s+\[ *\d+%\]$`), true},
	{"lines of passing tests", text.Pattern(`^ok \d+ - .*$`), true},
	{"lines of passing tests", text.Pattern(`^\s*[✓✔] .+$`), false},
	{"lines of passing tests", text.Pattern(`^PASS(?: \S+(?: \([0-9.]+ m?s\))?)?$`), false},
	{"packages that passed", text.Pattern(`^ok  \t\S+\t(?:\(cached\)|[0-9.]+s)(?:\t.*)?$`), true},
	{"packages without tests", text.Pattern(`^\?   \t\S+\t\[no test files\]$`), true},
	{"lines of progress", text.Pattern(`^(?:\S+\.py )?[.sxX]+\s+\[ *\d+%\]$`), true},
	{"lines about the runner", text.Pattern(`^(?:platform \S+ -- Python|cachedir: |rootdir: |plugins: |collecting \.\.\.|running \d+ tests?$|# Subtest: |\s+(?:Running |Doc-tests ))`), false},
}, installNoise...)

// installNoise is what package managers and builds say on their way.
var installNoise = []noiseKind{
	{"lines of download and progress", text.Pattern(`^\s*(?:Compiling|Checking|Downloaded|Downloading|Fresh|Locking|Updating|Building|Blocking) .*$`), false},
	{"lines of download and progress", text.Pattern(`^go: (?:downloading|extracting|finding) \S+ \S+$`), true},
	{"lines of download and progress", text.Pattern(`^npm (?:http|timing|sill|verb) .*$`), false},
	{"lines of download and progress", text.Pattern(`^(?:\d+ packages? (?:is|are) looking for funding|  run ` + "`npm fund`" + ` for details|Progress: resolved \d+.*)$`), false},
	{"lines of download and progress", text.Pattern(`^\s*(?:Collecting|Using cached|Downloading|Processing|Obtaining|Preparing metadata|Installing build dependencies|Getting requirements to build|Building wheels?|Created wheel|Stored in directory|Looking in (?:links|indexes)|Installing collected packages|Attempting uninstall|Found existing installation|Uninstalling)\b.*$`), false},
	{"packages that were there", text.Pattern(`^Requirement already satisfied: .*$`), false},
	{"lines of download and progress", text.Pattern(`^\s*[━╸╺ ]+[0-9.]+/[0-9.]+ [kMG]?B\b.*$`), false},
	{"lines of download and progress", text.Pattern(`^(?:Get|Hit|Ign):\d+ https?://.*$`), false},
	{"lines of download and progress", text.Pattern(`^(?:Reading package lists|Building dependency tree|Reading state information|Selecting previously unselected package|\(Reading database|Preparing to unpack|Unpacking|Processing triggers for|Need to get|After this operation|Fetched|debconf: delaying) ?.*$`), false},
}

// dropNoise leaves out lines and says how many, and makes one of several empty
// lines. It keeps every line that could be trouble. The result may be longer than the text.
func dropNoise(text string, kinds []noiseKind) string {
	var kept, labels []string
	dropped := map[string]int{}
	for _, l := range strings.Split(text, "\n") {
		for _, l := range collapseOverwritten(l) {
			label := noiseOf(l, kinds)
			switch {
			case label != "":
				if dropped[label] == 0 {
					labels = append(labels, label)
				}
				dropped[label]++
			case l == "" && len(kept) > 0 && kept[len(kept)-1] == "":
			default:
				kept = append(kept, l)
			}
		}
	}
	short := strings.Trim(strings.Join(kept, "\n"), "\n")
	if len(labels) == 0 {
		return short
	}
	for i, label := range labels {
		labels[i] = fmt.Sprintf("%s (%d)", label, dropped[label])
	}
	return strings.TrimPrefix(short+"\n[left out: "+strings.Join(labels, ", ")+"]", "\n")
}

// noiseOf returns the label of a line that is left out, else "".
func noiseOf(l string, kinds []noiseKind) string {
	if l == "" {
		return ""
	}
	for _, n := range kinds {
		if n.line().MatchString(l) && (n.sure || !trouble().MatchString(l)) {
			return n.label
		}
	}
	return ""
}

// collapseOverwritten returns what a terminal would show of a line that was written
// over and over, as progress is, and what of the rest could be trouble.
func collapseOverwritten(l string) []string {
	l = strings.TrimRight(l, "\r")
	if !strings.Contains(l, "\r") {
		return []string{l}
	}
	parts := strings.Split(l, "\r")
	var kept []string
	for i, p := range parts {
		if i == len(parts)-1 || trouble().MatchString(p) {
			kept = append(kept, p)
		}
	}
	return kept
}
