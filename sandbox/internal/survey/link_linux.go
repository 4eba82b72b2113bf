package survey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// maskHit turns an entry on the floor into masks.
func (w *walker) maskHit(p surveyedDir, h floorHit, write bool, depth int) error {
	if h.link {
		return w.hitLink(p, h, write)
	}
	w.addIfInReach(Mask{Path: p.real, Dir: h.dir, WriteOnly: h.writeOnly, Class: h.class, Why: h.why})
	if h.dir && h.writeOnly {
		// What is protected against reading may lie in what is protected
		// against writing, such as a shell's history in its configuration.
		return w.surveyDir(p, false, depth+1)
	}
	return nil
}

// addIfInReach adds a mask when its path is in the reach, and in the write
// reach if it only forbids writing.
func (w *walker) addIfInReach(m Mask) {
	if m.WriteOnly && !w.isWritable(m.Path) || !isInside(w.reach, m.Path) {
		return
	}
	w.addMask(m)
}

// hitLink handles a symbolic link on the floor: it may not be replaced, and
// what it leads to is protected under its name.
func (w *walker) hitLink(p surveyedDir, h floorHit, write bool) error {
	w.pinLink(p.real, write, h.class, h.why)
	target, info, err := resolveLink(p.real)
	if err != nil || info == nil {
		return err
	}
	w.addIfInReach(Mask{Path: target, Dir: info.IsDir(), WriteOnly: h.writeOnly, Class: h.class, Why: h.why})
	if info.IsDir() && h.writeOnly {
		return w.surveyAlias(surveyedDir{target, p.named})
	}
	return nil
}

// pinLink keeps a link from being replaced, and every further link by which it
// leads to its end.
func (w *walker) pinLink(link string, write bool, class denyfloor.Class, why string) {
	for _, l := range linkChain(link) {
		if l == link && write || l != link && w.isWritable(l) {
			w.addMask(Mask{Path: l, WriteOnly: true, Link: true, Class: class, Why: why})
		}
	}
}

// maxChain bounds the links that are followed from one; Linux follows 40
// (path_resolution(7)).
const maxChain = 40

// linkChain returns the symbolic links that are followed from a path to its end,
// each by a name that is free of links but for its last element.
func linkChain(path string) (links []string) {
	at, pending := "/", strings.Split(path, "/")
	for len(pending) > 0 && len(links) < maxChain {
		elem := pending[0]
		pending = pending[1:]
		switch elem {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := joinPath(at, elem)
		target, err := os.Readlink(next)
		if err != nil {
			at = next // Not a link; what is missing ends there.
			continue
		}
		links = append(links, next)
		if filepath.IsAbs(target) {
			at = "/"
		}
		pending = append(strings.Split(target, "/"), pending...)
	}
	return links
}

// followLink handles a symbolic link that is not on the floor, but under whose
// name something may be: .git that leads to another directory.
func (w *walker) followLink(p surveyedDir, write bool) error {
	target, info, err := resolveLink(p.real)
	if err != nil || info == nil || !info.IsDir() {
		return err
	}
	before := w.found
	if err := w.surveyAlias(surveyedDir{target, p.named}); err != nil {
		return err
	}
	if w.found > before {
		w.pinLink(p.real, write, denyfloor.Absolute, "leads to what is protected under this name")
	}
	return nil
}

// surveyAlias surveys a directory under another name, as far as rules reach.
func (w *walker) surveyAlias(p surveyedDir) error {
	near := func(r string) bool { return reach.Within(r, p.real) || reach.Within(p.real, r) }
	if !slices.ContainsFunc(w.reach, near) || !w.mayHold(p.named) {
		return nil
	}
	key := p.real + "\x00" + w.sameName(p.named)
	if found, again := w.aliased[key]; again {
		if found {
			w.found++
		}
		return nil
	}
	if len(w.aliased) >= w.limit.aliases {
		return w.findOverflow(w.links)
	}
	w.aliased[key] = false
	w.links, w.keys = append(w.links, p.named), append(w.keys, key)
	before := w.found
	// The levels below are few, since only those are entered that may count.
	err := w.surveyDir(p, w.isWritable(p.real), 0)
	w.aliased[key] = w.found > before
	return err
}

// sameName returns a text that is equal for names below which the same rules
// count: the same beginnings of rules match, and a home is as far away. A link
// to one of its own ancestors gives ever longer names, of which only a few are
// different in this sense.
func (w *walker) sameName(judged string) string {
	if w.holdsOwn(judged) {
		return judged
	}
	var key strings.Builder
	elems := strings.Split(judged, "/")
	for n := len(elems); n > max(0, len(elems)-w.names.longest); n-- {
		if w.isHome(strings.Join(elems[:n], "/")) {
			fmt.Fprintf(&key, "%d ", len(elems)-n)
		}
	}
	for _, p := range w.names.matchName(judged) {
		key.WriteString("\x00" + strings.Join(p.elems, "/"))
	}
	return key.String()
}

// resolveLink follows a link to its end. A nil info means that nothing is there.
func resolveLink(link string) (string, fs.FileInfo, error) {
	target, err := filepath.EvalSymlinks(link)
	if err != nil {
		// Missing, a circle, or closed to this user: the child does not get
		// there by this name either, and any other name is judged for itself.
		return "", nil, nil
	}
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	return target, info, err
}

// rulePrefixes are the beginnings of the floor's rules, to tell whether something
// below a name can be on the floor.
type rulePrefixes struct {
	byLast  map[string][]rulePrefix
	pattern []rulePrefix
	longest int
}

// rulePrefix is one beginning of a rule, and the rest of it.
type rulePrefix struct {
	elems []string
	rest  string
}

func compilePrefixes(rules []denyfloor.Rule) *rulePrefixes {
	x := &rulePrefixes{byLast: make(map[string][]rulePrefix)}
	for _, r := range rules {
		for _, path := range byName(r.Path) {
			x.addRule(strings.Split(strings.ToLower(path), "/"))
		}
	}
	return x
}

// byName lists the relative paths under which a rule counts. What git takes for
// a repository is found by what is in it; these are the names that say so.
func byName(rule string) []string {
	rel, ok := strings.CutPrefix(rule, "<git>/")
	if !ok {
		return []string{strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(rule, "~/"), "**/"), "/")}
	}
	return []string{
		".git/" + rel, ".git/worktrees/*/" + rel,
		".git/modules/*/" + rel, ".git/modules/*/*/" + rel, ".git/modules/*/*/*/" + rel,
	}
}

func (x *rulePrefixes) addRule(elems []string) {
	x.longest = max(x.longest, len(elems))
	for n := 1; n < len(elems); n++ {
		last, p := elems[n-1], rulePrefix{elems[:n], strings.Join(elems[n:], "/")}
		if strings.Contains(last, "*") {
			x.pattern = append(x.pattern, p)
		} else {
			x.byLast[last] = append(x.byLast[last], p)
		}
	}
}

// matchName returns the prefixes of rules with which a name ends.
func (x *rulePrefixes) matchName(path string) (out []rulePrefix) {
	elems := strings.Split(strings.ToLower(path), "/")
	for _, list := range [][]rulePrefix{x.byLast[elems[len(elems)-1]], x.pattern} {
		for _, p := range list {
			if endsLike(elems, p.elems) {
				out = append(out, p)
			}
		}
	}
	return out
}

// Reserved reports whether the floor denies writing something below a path, so
// that a link of this name would put what it leads to on the floor: .git
// anywhere, .config in a home.
func (s *Surveyor) Reserved(floor *denyfloor.Floor, path string) bool {
	for _, p := range s.names.matchName(path) {
		// A star matches any text; an example will do.
		rest := strings.ReplaceAll(p.rest, "*", "x")
		if _, denied := floor.Check(opWrite, joinPath(path, rest)); denied {
			return true
		}
	}
	w := walker{Surveyor: s, floor: floor}
	return w.holdsOwn(path) || w.isHome(path)
}

func endsLike(elems, prefix []string) bool {
	if len(prefix) > len(elems) {
		return false
	}
	for i, e := range elems[len(elems)-len(prefix):] {
		if !denyfloor.MatchElement(prefix[i], e) {
			return false
		}
	}
	return true
}

// mayHold reports whether something below a name can be on the floor. It errs
// on the side of yes: rules for home directories count everywhere.
func (w *walker) mayHold(path string) bool {
	return len(w.names.matchName(path)) > 0 || w.holdsOwn(path) || w.isHome(path)
}

// holdsOwn reports whether a file of the runtime lies below a name.
func (w *walker) holdsOwn(path string) bool {
	return slices.ContainsFunc(w.floor.Own(), func(own string) bool { return reach.Within(path, own) })
}

// isHome reports whether the floor treats a directory as a home directory. It
// does not say so itself, but a rule that counts in homes only does.
func (w *walker) isHome(path string) bool {
	_, denied := w.floor.Check(opRead, joinPath(path, ".vault-token"))
	return denied
}
