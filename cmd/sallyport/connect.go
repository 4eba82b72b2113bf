package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// client is a known MCP client: where its configuration lives and under which
// key it lists servers.
type client struct {
	name string
	key  string
	path func(home, dir string) string
	// typed clients want "type":"stdio" in the entry.
	typed bool
}

// clients lists the known clients, by the names that connect takes. The places
// are those of the clients' own documentation.
func clients() []client {
	return []client{
		{"claude-code", "mcpServers", func(_, dir string) string { return filepath.Join(dir, ".mcp.json") }, true},
		{"claude-desktop", "mcpServers", claudeDesktop, false},
		{"cursor", "mcpServers", func(home, _ string) string { return filepath.Join(home, ".cursor", "mcp.json") }, false},
		{"gemini", "mcpServers", func(home, _ string) string { return filepath.Join(home, ".gemini", "settings.json") }, false},
		{"vscode", "servers", func(_, dir string) string { return filepath.Join(dir, ".vscode", "mcp.json") }, true},
		{"windsurf", "mcpServers", func(home, _ string) string {
			return filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")
		}, false},
	}
}

func claudeDesktop(home, _ string) string {
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "Claude", "claude_desktop_config.json")
	case "windows":
		return filepath.Join(home, "AppData", "Roaming", "Claude", "claude_desktop_config.json")
	default:
		return filepath.Join(home, ".config", "Claude", "claude_desktop_config.json")
	}
}

func connectCommand(env *environment, f *flags) *cobra.Command {
	var print bool
	var names []string
	for _, c := range clients() {
		names = append(names, c.name)
	}
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Make a known MCP client use this server",
		Long: `Add the entry that makes a known MCP client start this server over stdio. The
client's file is kept as a copy with the ending .bak; --print shows the entry
and changes nothing. Known clients: ` + strings.Join(names, ", ") + `.`,
		Example: `  sallyport connect claude-code --print
  sallyport connect cursor`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.IndexFunc(clients(), func(c client) bool { return c.name == args[0] })
			if i < 0 {
				return misused(fmt.Errorf("client %q is not known: expected one of %s", args[0], strings.Join(names, ", ")))
			}
			c := clients()[i]
			entry, err := stdioEntry(env, f, &c)
			if err != nil {
				return misused(err)
			}
			path := c.path(env.home, env.dir)
			p := env.printer(f)
			if print {
				fmt.Fprintf(env.stderr, "for %s\n", path)
				return p.value(map[string]any{c.key: map[string]any{"sallyport": entry}})
			}
			if err := addEntry(path, c.key, entry); err != nil {
				return misused(err)
			}
			if p.json {
				return p.value(map[string]string{"client": c.name, "file": path})
			}
			p.line("added sallyport to %s", path)
			return nil
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the entry instead of writing it")
	return cmd
}

// stdioEntry is what a client needs to start this server.
func stdioEntry(env *environment, f *flags, c *client) (map[string]any, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if isTemporary(exe) {
		exe = "sallyport" // `go run`: the installed binary is meant
	}
	args := []string{"serve", "--stdio"}
	configs := f.config
	if len(configs) == 0 {
		if _, err := os.Stat(filepath.Join(env.dir, configName)); err == nil {
			configs = []string{configName}
		}
	}
	if len(configs) == 0 {
		return nil, fmt.Errorf("no %s in %s: run 'sallyport init' first, so that the client's folder does not decide", configName, env.dir)
	}
	for _, path := range configs {
		if !filepath.IsAbs(path) {
			path = filepath.Join(env.dir, path)
		}
		args = append(args, "--config", path)
	}
	entry := map[string]any{"command": exe, "args": args}
	if c.typed {
		entry["type"] = "stdio"
	}
	return entry, nil
}

// isTemporary reports whether a binary is one that `go run` will remove.
func isTemporary(exe string) bool {
	return strings.Contains(exe, string(filepath.Separator)+"go-build")
}

// member is one key of a JSON object, in its place.
type member struct {
	key   string
	value json.RawMessage
}

// addEntry puts the server into a client's file and leaves everything else as
// it is, in its order. A file that is not plain JSON is not touched.
func addEntry(path, key string, entry map[string]any) error {
	// A link to where somebody keeps such files stays a link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	}
	top, err := members(old)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed: add the entry that --print shows yourself", path, err)
	}
	servers, err := members(find(top, key))
	if err != nil {
		return fmt.Errorf("%s: %s: %w; nothing was changed", path, key, err)
	}
	value, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	servers = put(servers, "sallyport", value)
	top = put(top, key, object(servers))
	var out bytes.Buffer
	if err := json.Indent(&out, object(top), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	if bytes.Equal(old, out.Bytes()) {
		return nil // the copy is of the file before the entry
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if old != nil {
		if err := os.WriteFile(path+".bak", old, 0o600); err != nil {
			return err
		}
	}
	return replaceFile(path, out.Bytes())
}

// replaceFile writes beside the file and renames, so that a client never
// reads half of it.
func replaceFile(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".sallyport-*")
	if err != nil {
		return err
	}
	if st, statErr := os.Stat(path); statErr == nil {
		err = tmp.Chmod(st.Mode().Perm())
	}
	_, writeErr := tmp.Write(text)
	if err = errors.Join(err, writeErr, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// members reads an object in its order; nothing is the empty object.
func members(text []byte) ([]member, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if !json.Valid(text) {
		return nil, errors.New("it is not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("expected an object")
	}
	var out []member
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		out = append(out, member{key, value})
	}
	return out, nil
}

func find(list []member, key string) json.RawMessage {
	for _, m := range list {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func put(list []member, key string, value json.RawMessage) []member {
	for i := range list {
		if list[i].key == key {
			list[i].value = value
			return list
		}
	}
	return append(list, member{key, value})
}

func object(list []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		// A string always marshals.
		key, _ := json.Marshal(m.key)
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
