package config

import "log/slog"

// Log says what serve writes to standard error.
type Log struct {
	// Format is text or json.
	Format string
	// Level is the least level that is written.
	Level slog.Level
}

// logLevels are the words for levels.
func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

func logKeys() []row {
	return []row{
		{KeyDoc: KeyDoc{"log", TypeMapping, false, true, "text, from warnings on", "What `serve` writes to standard error.", "{format: json, level: info}"}},
		{
			KeyDoc: KeyDoc{"log.format", TypeText, false, true, "text", "Form of a line: `text`, or `json` with one object a line.", "json"},
			words:  []string{"text", "json"}, set: func(s *scope, v value) { s.cfg.Log.Format = v.text },
		},
		{
			KeyDoc: KeyDoc{"log.level", TypeText, false, true, "warn", "Least level that is written. From `info` on there is one line for each request and one for each call.", "info"},
			words:  logLevels(),
			set: func(s *scope, v value) {
				// The table admits no other word.
				_ = s.cfg.Log.Level.UnmarshalText([]byte(v.text))
			},
		},
	}
}
