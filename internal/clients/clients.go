// Package clients knows where MCP clients keep their settings, and reads and
// rewrites the servers in them.
//
// Start with [Known] or [Find], which name the clients, and [Read], which reads
// one file. Nothing here writes to a disk: [File.Connect], [File.Rewrite] and
// [File.Restore] return the new text of a file, in which nothing but the
// servers is another.
package clients

import (
	"cmp"
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
	// LocalAppData is %LOCALAPPDATA% of Windows; empty means its usual place.
	LocalAppData string
	// Codex is $CODEX_HOME; empty means its usual place.
	Codex string
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
	// TOML says that the settings are TOML; else they are JSON.
	TOML bool
	// Comments says that the client reads comments and trailing commas in JSON.
	Comments bool
	// Typed says that an entry has its "type".
	Typed bool
	// Custom says that an entry has the "source" custom.
	Custom bool
	// Events says that a "url" without a type is one of server-sent events.
	Events bool
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
	// DollarVariables are $NAME and ${NAME}.
	DollarVariables Variables = "dollar"
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
			user: claudeDesktop,
		},
		{
			Name: "cline", Title: "Cline", Key: "mcpServers",
			user: inSettings("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
		},
		{
			Name: "codex", Title: "Codex", Key: "mcp_servers", TOML: true,
			user: func(f *Folders) string {
				return filepath.Join(cmp.Or(f.Codex, filepath.Join(f.Home, ".codex")), "config.toml")
			},
			project: inDir(".codex", "config.toml"),
		},
		{
			Name: "cursor", Title: "Cursor", Key: "mcpServers", Comments: true, Variables: EditorVariables,
			user: inHome(".cursor", "mcp.json"), project: inDir(".cursor", "mcp.json"),
		},
		{
			Name: "gemini", Title: "Gemini CLI", Key: "mcpServers", Comments: true, Events: true, Variables: DollarVariables,
			user: inHome(".gemini", "settings.json"), project: inDir(".gemini", "settings.json"),
		},
		{
			Name: "roo", Title: "Roo Code", Key: "mcpServers", Variables: EditorVariables,
			user:    inSettings("Code", "User", "globalStorage", "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"),
			project: inDir(".roo", "mcp.json"),
		},
		{
			Name: "vscode", Title: "Visual Studio Code", Key: "servers", Comments: true, Typed: true, Variables: EditorVariables,
			user: inSettings("Code", "User", "mcp.json"), project: inDir(".vscode", "mcp.json"), first: true,
		},
		{
			Name: "windsurf", Title: "Windsurf", Key: "mcpServers", Comments: true, Variables: EditorVariables,
			user: inHome(".codeium", "windsurf", "mcp_config.json"),
		},
		{
			Name: "zed", Title: "Zed", Key: "context_servers", Comments: true, Custom: true,
			user: zedSettings, project: inDir(".zed", "settings.json"),
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

// claudeDesktop returns the file of Claude Desktop. A program from the store of
// Windows has a folder of its own, and reads no other.
func claudeDesktop(f *Folders) string {
	if f.OS == "windows" {
		local := cmp.Or(f.LocalAppData, filepath.Join(f.Home, "AppData", "Local"))
		found, err := filepath.Glob(filepath.Join(local, "Packages", "Claude_*", "LocalCache", "Roaming", "Claude", "claude_desktop_config.json"))
		if err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return inSettings("Claude", "claude_desktop_config.json")(f)
}

// zedSettings returns the file of Zed, which keeps to the folder of Linux on a
// Mac too.
func zedSettings(f *Folders) string {
	switch {
	case f.OS == "windows":
		return filepath.Join(f.settingsDir(), "Zed", "settings.json")
	case f.OS == "darwin":
		return filepath.Join(f.Home, ".config", "zed", "settings.json")
	default:
		return filepath.Join(f.settingsDir(), "zed", "settings.json")
	}
}

// Of returns the client that keeps its servers in a file of this name, which
// may be a copy elsewhere: by its place, else by the name of the file. A file
// of no known client is taken for JSON with comments under the usual key, or for
// TOML as Codex writes it when its name ends so.
func Of(path string, f *Folders) Client {
	byName := Client{
		Name: "imported", Title: filepath.Base(path), Key: "mcpServers", Comments: true, Variables: ShellVariables,
		user: func(*Folders) string { return path },
	}
	if filepath.Ext(path) == ".toml" {
		byName.Key, byName.TOML, byName.Comments, byName.Variables = "mcp_servers", true, false, NoVariables
	}
	found := false
	for _, c := range Known() {
		for _, file := range c.Files(f) {
			if file == path {
				return c
			}
			// A name such as mcp.json says nothing without its folder.
			if base := filepath.Base(file); !found && base == filepath.Base(path) &&
				(!slices.Contains([]string{"mcp.json", "settings.json", "config.toml"}, base) || filepath.Base(filepath.Dir(file)) == filepath.Base(filepath.Dir(path))) {
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
