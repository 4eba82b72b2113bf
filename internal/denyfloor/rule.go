package denyfloor

// Class says what may ever change a path of the floor.
type Class string

const (
	// Absolute paths are closed to tools and children, always.
	Absolute Class = "absolute"
	// Repository paths steer an existing repository. They are closed to
	// tools and children, always; a repository that a child makes is its own.
	Repository Class = "repository"
	// Project paths are configuration of a project that runs commands.
	// They are closed to tools and children; what a child changes of them in
	// an overlay waits for a person.
	Project Class = "project"
)

// Rule is one line of the always-deny floor.
type Rule struct {
	// Path is a sequence of path elements. It begins with "/" when it is
	// absolute, with "~/" when it lies in the home directory of any user,
	// with "**/" when it may begin at any element, and with "<git>/" when it
	// lies in a directory of a repository. Each element may hold one "*". A
	// rule covers what it names and everything below it.
	Path string
	// WriteOnly rules leave the path readable.
	WriteOnly bool
	// Tools is true when children may write the path all the same.
	Tools bool
	// Class says what may ever change the path.
	Class Class
	// Reason says for operators what is protected.
	Reason string
	// Source is where the program that the path belongs to documents it, or
	// an attack that used it.
	Source string
}

// Floor is the list of paths that no grant reaches: keys, credentials,
// histories, files that make another program run something, other processes,
// devices and the runtime's own files. Build it with [New]. It is immutable
// and safe for concurrent use.
type Floor struct {
	rules   *floorRules
	homes   []string
	ownHome string
	own     []ownPath
	// packages is where installed packages lie, in every spelling.
	packages []string
	ids      *fileIdentities
}

// floorRules is the compiled table: absolute rules, those of home directories,
// those that match anywhere, those of endings of names, and those relative to
// the directory of a repository.
type floorRules struct {
	abs, home, any, git, gitTool ruleSet
	endings                      []endingRule
}

// endingRule is a rule for every name with an ending.
type endingRule struct {
	text string
	rule *Rule
}

// ownPath is one path of FileBackend.Deny, in every spelling that leads there.
type ownPath struct {
	path, dir, base string
	folder          bool // what lies there is a folder, or is to be one
}
