package terminal

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// maxStatusFiles bounds the files of one group.
const maxStatusFiles = 40

// statusGroup is a group of files in git-status(1).
type statusGroup int

const (
	groupStaged statusGroup = iota
	groupChanged
	groupConflict
	groupUntracked
	groupIgnored
	groupCount
)

func (g statusGroup) name() string {
	return [groupCount]string{"staged", "changed", "in conflict", "untracked", "ignored"}[g]
}

// gitStatus is what git status says. Files keep the two letters of the short
// format.
type gitStatus struct {
	branch string
	other  []string // what is neither a file nor advice
	files  [groupCount][]string
}

// reduceStatus turns the long, short or porcelain format into the branch,
// counts and files. A text that is not understood stays as it is.
func reduceStatus(text string) string {
	var s gitStatus
	warnings, lines := splitWarnings(strings.Split(strings.TrimRight(text, "\n"), "\n"))
	if ok := s.parseShort(lines); !ok {
		s = gitStatus{}
		if ok = s.parseLong(lines); !ok {
			return text
		}
	}
	s.other = append(warnings, s.other...)
	return s.formatReduced()
}

// splitWarnings takes out what git says on standard error, such as that it may
// not open a folder: it stands anywhere between the lines of either format.
func splitWarnings(all []string) (warnings, lines []string) {
	for _, line := range all {
		if strings.HasPrefix(line, "warning: ") {
			warnings = append(warnings, line)
		} else {
			lines = append(lines, line)
		}
	}
	return warnings, lines
}

func (s *gitStatus) formatReduced() string {
	lines := append([]string{s.branch}, s.other...)
	if s.branch == "" {
		lines = s.other
	}
	var counts []string
	for g := range groupCount {
		if n := len(s.files[g]); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, g.name()))
		}
	}
	if len(counts) > 0 {
		lines = append(lines, strings.Join(counts, ", "))
	}
	for g := range groupCount {
		files := s.files[g]
		lines = append(lines, files[:min(len(files), maxStatusFiles)]...)
		if n := len(files) - maxStatusFiles; n > 0 {
			lines = append(lines, fmt.Sprintf("and %d more %s; git status PATH lists them", n, g.name()))
		}
	}
	return strings.Join(lines, "\n")
}

var (
	shortFile   = text.Pattern(`^([ MTADRCU?!])([ MTADRCU?!]) (\S.*)$`)
	shortBranch = text.Pattern(`^## (.+)$`)
)

// parseShort reads the short and the porcelain format, version 1. It reports
// whether every line is of it.
func (s *gitStatus) parseShort(lines []string) bool {
	for i, l := range lines {
		if m := shortBranch().FindStringSubmatch(l); m != nil && i == 0 {
			s.branch = m[1]
			continue
		}
		m := shortFile().FindStringSubmatch(l)
		if m == nil || m[1] == " " && m[2] == " " {
			return false
		}
		g := shortGroup(m[1], m[2])
		s.files[g] = append(s.files[g], l)
	}
	return true
}

// shortGroup is the table of git-status(1), "Short Format".
func shortGroup(x, y string) statusGroup {
	switch {
	case x == "?":
		return groupUntracked
	case x == "!":
		return groupIgnored
	case x == "U", y == "U", x+y == "AA", x+y == "DD":
		return groupConflict
	case y != " ":
		return groupChanged // It may be staged as well; the letters say so.
	default:
		return groupStaged
	}
}

var (
	longFile = text.Pattern(`^\t(?:(new file|modified|deleted|renamed|copied|typechange|both modified|both added|both deleted|` +
		`added by us|added by them|deleted by us|deleted by them): +)?(\S.*)$`)
	longLetters = map[string]string{
		"new file": "A", "modified": "M", "deleted": "D", "renamed": "R", "copied": "C", "typechange": "T",
		"both modified": "UU", "both added": "AA", "both deleted": "DD",
		"added by us": "AU", "added by them": "UA", "deleted by us": "DU", "deleted by them": "UD",
	}
	longTitles = map[string]statusGroup{
		"Changes to be committed:":       groupStaged,
		"Changes not staged for commit:": groupChanged,
		"Unmerged paths:":                groupConflict,
		"Untracked files:":               groupUntracked,
		"Ignored files:":                 groupIgnored,
	}
	longBranch = text.Pattern(`^(?:On branch .+|HEAD detached (?:at|from) .+|Not currently on any branch\.)$`)
	longAdvice = text.Pattern(`^  \((?:use|fix|all conflicts fixed|commit or discard) .*\)$|^(?:no changes added to commit|` +
		`nothing added to commit but untracked files present) \(use .*\)$`)
)

// parseLong reads the long format. The text must begin with the branch; a line
// that is not known is kept.
func (s *gitStatus) parseLong(lines []string) bool {
	if !longBranch().MatchString(lines[0]) {
		return false
	}
	s.branch = strings.TrimPrefix(lines[0], "On branch ")
	group := groupCount
	for _, l := range lines[1:] {
		if g, ok := longTitles[l]; ok {
			group = g
			continue
		}
		m := longFile().FindStringSubmatch(l)
		switch {
		case m != nil && group < groupCount:
			s.files[group] = append(s.files[group], shortLetters(group, longLetters[m[1]])+" "+m[2])
		case l == "", longAdvice().MatchString(l):
		default:
			s.other = append(s.other, l)
		}
	}
	return true
}

func shortLetters(g statusGroup, letter string) string {
	switch {
	case len(letter) == 2:
		return letter
	case g == groupUntracked:
		return "??"
	case g == groupIgnored:
		return "!!"
	case g == groupChanged:
		return " " + letter
	default:
		return letter + " "
	}
}
