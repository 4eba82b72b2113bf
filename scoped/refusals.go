package scoped

import (
	"slices"

	"github.com/sallyport/sallyport"
)

// commandOf returns the words of what a tool starts.
func commandOf(s *sallyport.Spawn) []string { return append([]string{s.Binary}, s.Args...) }

// recordCommand remembers the command of the child that the call used last.
func (b *Binding) recordCommand(words []string) {
	b.children.mu.Lock()
	defer b.children.mu.Unlock()
	b.children.command = words
}

// Command returns the program that the call started or used last, with its arguments;
// nil when it used none. It may be called while the tool runs; the slice must not be
// changed.
func (b *Binding) Command() []string {
	if b == nil {
		return nil
	}
	b.children.mu.Lock()
	defer b.children.mu.Unlock()
	return b.children.command
}

// hostReporter is a child that tells while it runs which hosts it was refused since its
// start, in the order of their first refusal. It is safe for concurrent use.
type hostReporter interface {
	RefusedHosts() []sallyport.HostUse
}

// NoteRefusals has the record of the call say which hosts a child is refused until done
// is called, and with sinceStart what it was refused since it was started. An earlier
// call may have started the child. The caller calls done once, before the call ends. A
// child that does not tell is noted nothing of.
func (p processAccessor) NoteRefusals(child sallyport.Child, sinceStart bool) (done func()) {
	binary := "a server"
	if f, ok := child.(*followedChild); ok {
		p.b.recordCommand(f.words)
		binary = f.words[0]
	}
	reporter, ok := child.(hostReporter)
	if !ok {
		return func() {}
	}
	var before []sallyport.HostUse
	if !sinceStart {
		before = reporter.RefusedHosts()
	}
	return func() { p.b.recordRefusedHosts(binary, before, reporter.RefusedHosts()) }
}

// recordRefusedHosts reports what a child was refused between two moments.
func (b *Binding) recordRefusedHosts(binary string, before, after []sallyport.HostUse) {
	var list []sallyport.Decision
	for _, u := range after {
		i := slices.IndexFunc(before, func(was sallyport.HostUse) bool { return was.Host == u.Host && was.Port == u.Port })
		if i >= 0 {
			u.Connections -= before[i].Connections
		}
		if u.Connections > 0 {
			list = append(list, b.newHostDecision(binary, &u))
		}
	}
	show, say := b.children.reserveLines(refusedHosts, len(list))
	for _, d := range list[:show] {
		b.recordDecision(d)
	}
	if say {
		b.recordDecision(newRestDecision(refusedHosts, binary, len(list)-show, nil))
	}
}
