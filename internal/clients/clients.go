// Package clients knows where MCP clients keep their settings, and reads and
// rewrites the servers in them.
//
// Start with [Known] or [Find], which name the clients, and [Read], which reads
// one file. Nothing here writes to a disk: [File.Connect], [File.Rewrite] and
// [File.Restore] return the new text of a file, in which nothing but the
// servers is another.
package clients

import (
	"path/filepath"
	"slices"
)

// Own is the name of the entry with which a client starts this program.
const Own = "sallyport"

// Folders say where a machine keeps settings.
type Folders struct {
	// Home is the user's folder, Dir the working directory, at which settings
	// of a project are looked for.
	Home, Dir string
	// OS is the system, as runtime.GOOS names it.
	OS string
	// AppData is %APPDATA% of Windows; empty means its usual place.
	AppData string
	// Config is $XDG_CONFIG_HOME of Unix; empty means its usual place.
	Config string
}

// settingsDir returns the folder in which programs of a system store settings.
func (f *Folders) settingsDir() string {
	switch {
	case f.OS == "darwin":
		return filepath.Join(f.Home, "Library", "Application Support")
	case f.OS == "windows" && f.AppData != "":
		return f.AppData
	case f.OS == "windows":
		return filepath.Join(f.Home, "AppData", "Roaming")
	case f.Config != "":
		return f.Config
	default:
		return filepath.Join(f.Home, ".config")
	}
}

// Client is an MCP client: where its settings are and how they read. The places
// are those of the clients' own documentation.
type Client struct {
	// Name is what it is called on a command line, Title by its makers.
	Name, Title string
	// Key is the member of the settings that holds the servers.
	Key string
	// Comments says that the client reads comments and trailing commas.
	Comments bool
	// Typed says that an entry has its "type".
	Typed bool
	// Variables is how the client writes a reference in a value.
	Variables Variables

	// user and project are the files of the user and of a project.
	user, project func(*Folders) string
	// first says that connect writes the file of the project.
	first bool
	// nested says that the file of the user has servers of projects too.
	nested bool
}

// Variables names a way to write references in values.
type Variables string

// The ways.
const (
	// NoVariables takes every text as it stands.
	NoVariables Variables = ""
	// EditorVariables are ${env:NAME}, ${input:ID}, ${workspaceFolder}, ….
	EditorVariables Variables = "editor"
	// ShellVariables are ${NAME} and ${NAME:-default}.
	ShellVariables Variables = "shell"
)

// Known lists the clients by name. The caller owns the slice.
func Known() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", Key: "mcpServers", Typed: true, Variables: ShellVariables,
			user: inHome(".claude.json"), project: inDir(".mcp.json"), first: true, nested: true,
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", Key: "mcpServers",
			user: inSettings("Claude", "claude_desktop_config.json"),
		},
		{
			Name: "cursor", Title: "Cursor", Key: "mcpServers", Comments: true, Variables: EditorVariables,
			user: inHome(".cursor", "mcp.json"), project: inDir(".cursor", "mcp.json"),
		},
		{
			Name: "gemini", Title: "Gemini CLI", Key: "mcpServers", Comments: true, Variables: ShellVariables,
			user: inHome(".gemini", "settings.json"), project: inDir(".gemini", "settings.json"),
		},
		{
			Name: "vscode", Title: "Visual Studio Code", Key: "servers", Comments: true, Typed: true, Variables: EditorVariables,
			user: inSettings("Code", "User", "mcp.json"), project: inDir(".vscode", "mcp.json"), first: true,
		},
		{
			Name: "windsurf", Title: "Windsurf", Key: "mcpServers", Comments: true, Variables: EditorVariables,
			user: inHome(".codeium", "windsurf", "mcp_config.json"),
		},
	}
}

// Find returns the client of a name.
func Find(name string) (c Client, ok bool) {
	list := Known()
	i := slices.IndexFunc(list, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return list[i], true
}

// Names lists the names of the known clients.
func Names() []string {
	var names []string
	for _, c := range Known() {
		names = append(names, c.Name)
	}
	return names
}

// Files lists where the client's servers may be: those of the user, then those
// of the project.
func (c *Client) Files(f *Folders) []string {
	files := []string{c.user(f)}
	if c.project != nil {
		files = append(files, c.project(f))
	}
	return files
}

// AllFiles lists where the servers of every known client may be.
func AllFiles(f *Folders) (paths []string) {
	for _, c := range Known() {
		paths = append(paths, c.Files(f)...)
	}
	return paths
}

// Main is the file to which one more server is added.
func (c *Client) Main(f *Folders) string {
	if c.first {
		return c.project(f)
	}
	return c.user(f)
}

// Of returns the client that keeps its servers in a file of this name, which
// may be a copy elsewhere: by its place, else by the name of the file. A file
// of no known client is taken for JSON with comments under the usual key.
func Of(path string, f *Folders) Client {
	byName := Client{
		Name: "imported", Title: filepath.Base(path), Key: "mcpServers", Comments: true, Variables: ShellVariables,
		user: func(*Folders) string { return path },
	}
	found := false
	for _, c := range Known() {
		for _, file := range c.Files(f) {
			if file == path {
				return c
			}
			// A name such as mcp.json says nothing without its folder.
			if base := filepath.Base(file); !found && base == filepath.Base(path) &&
				(base != "mcp.json" && base != "settings.json" || filepath.Base(filepath.Dir(file)) == filepath.Base(filepath.Dir(path))) {
				byName, found = c, true
			}
		}
	}
	return byName
}

func inHome(elements ...string) func(*Folders) string {
	return func(f *Folders) string { return filepath.Join(append([]string{f.Home}, elements...)...) }
}

func inDir(elements ...string) func(*Folders) string {
	return func(f *Folders) string { return filepath.Join(append([]string{f.Dir}, elements...)...) }
}

func inSettings(elements ...string) func(*Folders) string {
	return func(f *Folders) string { return filepath.Join(append([]string{f.settingsDir()}, elements...)...) }
}
