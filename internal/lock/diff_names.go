package lock

// newConflictChanges reports the tools whose names conflict now and did not before.
func newConflictChanges(pinned, now *File, own []string) []Change {
	known := map[string]bool{}
	for _, c := range Conflicts(pinned.toolRefs(own)) {
		for _, r := range c.Tools {
			known[conflictPartKey(c, r)] = true
		}
	}
	var out []Change
	for _, c := range Conflicts(now.toolRefs(own)) {
		for _, r := range c.Tools {
			if known[conflictPartKey(c, r)] {
				continue
			}
			d := changeCollector{server: r.Server, kind: KindTool, name: r.Tool}
			d.addChange(RuleConfusable, "name", absentValue{}, r.Tool)
			d.out[0].Message = c.Message
			out = append(out, d.out...)
		}
	}
	return out
}

// conflictPartKey identifies a tool's part in a conflict.
func conflictPartKey(c Conflict, r Ref) string {
	c.Message = r.String()
	return digestOf(c)
}

// toolRefs lists the tools of a file and of this runtime.
func (f *File) toolRefs(own []string) []Ref {
	var out []Ref
	for _, name := range own {
		out = append(out, Ref{Tool: name})
	}
	for server, s := range f.serversOrNil() {
		for tool := range s.Tools {
			out = append(out, Ref{Server: server, Tool: tool})
		}
	}
	return out
}
