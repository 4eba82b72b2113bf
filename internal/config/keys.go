package config

import "slices"

//go:generate go test -run TestReferencePage -update

// allKeys returns the table. Supporting a key is a matter of its row alone.
func allKeys() []row {
	return slices.Concat(
		topKeys(),
		principalKeys(),
		budgetKeys("principals.<name>", "a principal"),
		securityKeys("security", "default_permissions", "require_auth", "audit_log"),
		oidcKeys(), oidcPageKeys(),
		connectionKeys(),
		searchKeys(),
		taskKeys(),
		actionKeys(),
		serverKeys(),
		pluginKeys(),
		packageKeys(),
		sandboxKeys(),
		personalityKeys(),
		approverKeys(),
		budgetKeys(personalityKey, "each principal in this role"),
		flowKeys(),
		argumentKeys(),
		effectKeys(),
		knownKeys(),
		logKeys(),
		metricsKeys(),
		auditKeys(),
		telemetryKeys(),
		tlsKeys(),
		noticeKeys(),
	)
}

func topKeys() []row {
	return []row{
		{KeyDoc: KeyDoc{"version", TypeNumber, true, true, "", "Version of this format. It says what a role without a list means for an MCP server or action that it lists: with 2 their declaration stands; with 1 files need a list.", "2"}, words: []string{"1", "2"}, set: func(s *scope, v value) { s.file.version = v.text }},
		{
			KeyDoc: KeyDoc{"workspace", TypeText, false, true, "the folder of the first file", "Folder at which relative paths of tool calls are anchored.", "."},
			check:  (*scope).workspacePath, set: func(s *scope, v value) { s.cfg.Workspace = v.text },
		},
		{
			KeyDoc: KeyDoc{"state", TypeText, false, true, "sqlite:.sallyport/state.db", "Where state lives: `sqlite:PATH`, or `memory` to forget it at exit.", "sqlite:.sallyport/state.db"},
			check:  (*scope).parseState, hide: true,
		},
		{
			KeyDoc: KeyDoc{"limits", TypeText, false, true, "state", "Where the counters of rate limits live: `state`, shared by every process that uses it, or `memory` of each process.", "state"},
			check:  (*scope).parseLimits, hide: true, set: func(s *scope, v value) { s.cfg.Limits = v.text },
		},
		{
			KeyDoc: KeyDoc{"secrets", TypeChoices, false, true, "no secrets", "Where secret values come from, asked in this order.", "[{env: SALLYPORT_SECRET_}, {file: .sallyport/secrets.age}]"},
			set:    func(s *scope, _ value) { s.cfg.Secrets = []SecretBackend{} },
		},
		{
			KeyDoc: KeyDoc{"secrets[].env", TypeText, false, true, "", "Prefix of environment variables: `PREFIX_` serves `a/bKey` from `PREFIX_A_BKEY`.", "SALLYPORT_SECRET_"},
			check:  (*scope).envPrefix, hide: true,
			set: func(s *scope, v value) { s.addBackend(SecretBackend{EnvPrefix: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"secrets[].dir", TypeText, false, true, "", "Folder with one file per secret reference.", "./secrets"},
			check:  (*scope).resolvePath,
			set:    func(s *scope, v value) { s.addBackend(SecretBackend{Dir: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"secrets[].file", TypeText, false, true, "", "File that age has encrypted; `sallyport secrets set` writes it.", ".sallyport/secrets.age"},
			check:  (*scope).resolvePath,
			set:    func(s *scope, v value) { s.addBackend(SecretBackend{File: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"secrets[].keychain", TypeText, false, true, "", "Service name of items in the system's keychain; the account of an item is the reference.", "sallyport"},
			check:  (*scope).serviceName,
			set:    func(s *scope, v value) { s.addBackend(SecretBackend{Keychain: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"secrets[].exec", TypeTexts, false, true, "", "Program that prints a value, and its arguments; no shell. `{ref}` stands for the reference, which is the last argument when none has it.", "[/usr/bin/pass, show, \"agents/{ref}\"]"},
			hide:   true,
			set:    func(s *scope, v value) { s.addBackend(SecretBackend{Exec: v.list}) },
			done:   (*scope).checkProgram,
		},
		{
			KeyDoc: KeyDoc{"skills", TypeText, false, true, "no `get_skill`", "Folder with instructions for agents, `NAME.md` or `NAME/SKILL.md`, which the built-in `get_skill` gives in every role. No other tool reaches it.", ".sallyport/skills"},
			check:  (*scope).resolvePath, set: func(s *scope, v value) { s.cfg.Skills = v.text },
		},
		{KeyDoc: KeyDoc{"personalities", TypeNames, false, true, "one personality `default` without files and without a network ceiling", "What each role of an agent may touch at most.", "{researcher: {toolset: [\"@file\"]}}"}, some: true},
	}
}
