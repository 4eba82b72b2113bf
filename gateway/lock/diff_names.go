package lock

// confusable reports the tools whose names conflict now and did not before.
func confusable(pinned, now *File, own []string) []Change {
	known := map[string]bool{}
	for _, c := range Conflicts(pinned.refs(own)) {
		for _, r := range c.Tools {
			known[rival(c, r)] = true
		}
	}
	var out []Change
	for _, c := range Conflicts(now.refs(own)) {
		for _, r := range c.Tools {
			if known[rival(c, r)] {
				continue
			}
			d := differ{server: r.Server, kind: KindTool, name: r.Tool}
			d.add(RuleConfusable, "name", absent{}, r.Tool)
			d.out[0].Message = c.Message
			out = append(out, d.out...)
		}
	}
	return out
}

// rival identifies a tool's part in a conflict.
func rival(c Conflict, r Ref) string {
	c.Message = r.String()
	return digestOf(c)
}

// refs lists the tools of a file and of this runtime.
func (f *File) refs(own []string) []Ref {
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
