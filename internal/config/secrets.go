package config

import "path/filepath"

// checkProgram refuses a program of secrets that is no absolute path: a name
// would be looked for in folders that change, and a relative path belongs to the
// folder in which a command happens to start.
func (s *scope) checkProgram(key string) {
	argv := s.cfg.Secrets[len(s.cfg.Secrets)-1].Exec
	if at, ok := s.places[key]; ok && (len(argv) == 0 || !filepath.IsAbs(argv[0])) {
		s.file.HideAfterKey(at.at)
		s.addFault(s.file, at.at, key, "%s: expected the absolute path of a program and its arguments, such as [/usr/bin/pass, show, \"agents/{ref}\"]", key)
	}
}
