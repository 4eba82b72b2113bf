package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func ExampleParse() {
	p, args, err := Parse([]string{"npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31", "--verbose"})
	fmt.Println(p, args, err)
	_, _, err = Parse([]string{"npx", "-y", "@modelcontextprotocol/server-memory"})
	fmt.Println(err)
	// Output:
	// @modelcontextprotocol/server-memory@2026.8.31 [--verbose] <nil>
	// @modelcontextprotocol/server-memory names no version: write an exact one, such as @modelcontextprotocol/server-memory@1.2.3
}

func TestParse(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npx a@1.2.3":                          "npm a@1.2.3 bin= []",
		"npx -y a@1.2.3 x -y --z":              "npm a@1.2.3 bin= [x -y --z]",
		"/usr/bin/npx --yes @s/a@1.2.3-rc.1":   "npm @s/a@1.2.3-rc.1 bin= []",
		"npx.cmd a@1.2.3":                      "npm a@1.2.3 bin= []",
		"npx -y -p a@1.2.3 -- bin args":        "npm a@1.2.3 bin=bin [args]",
		"npx -p a@1.2.3 bin -- x":              "npm a@1.2.3 bin=bin [-- x]",
		"npx --package=@s/a@1.2.3 bin":         "npm @s/a@1.2.3 bin=bin []",
		"npx -y -- a@1.2.3 -p x":               "npm a@1.2.3 bin= [-p x]",
		"bunx a@1.2.3":                         "npm a@1.2.3 bin= []",
		"uvx mcp-server@1.2.3 x":               "pypi mcp-server@1.2.3 bin= [x]",
		"uvx Mcp_Server.x==2025.1":             "pypi mcp-server-x@2025.1 bin= []",
		"uvx --from a==1.2.3 bin x":            "pypi a@1.2.3 bin=bin [x]",
		"uvx --from=a==1.2.3rc1 bin":           "pypi a@1.2.3rc1 bin=bin []",
		"uv tool run a@1.2.3":                  "pypi a@1.2.3 bin= []",
		"pipx run a==1.2.3.post1 x":            "pypi a@1.2.3.post1 bin= [x]",
		"pipx run --spec a==1.2.3 bin":         "pypi a@1.2.3 bin=bin []",
		"npx a":                                "no exact version: a ",
		"npx a@latest":                         "no exact version: a latest",
		"npx @s/a":                             "no exact version: @s/a ",
		"npx @s/a@^1.2":                        "no exact version: @s/a ^1.2",
		"npx a@1.2":                            "no exact version: a 1.2",
		"npx a@01.2.3":                         "no exact version: a 01.2.3",
		"npx a@*":                              "no exact version: a *",
		"npx -p a bin":                         "no exact version: a ",
		"uvx a":                                "no exact version: a ",
		"uvx a>=1":                             "no exact version: a >=1",
		"uvx a@latest":                         "no exact version: a latest",
		"uvx a==1.*":                           "no exact version: a 1.*",
		"node x.js":                            "not a package launcher",
		"":                                     "not a package launcher",
		"uv run x":                             "not a package launcher",
		"uv":                                   "not a package launcher",
		"pipx list":                            "not a package launcher",
		"npx":                                  "no program is named",
		"npx -y":                               "no program is named",
		"npx -p a@1.2.3":                       "no program is named",
		"npx -p":                               "needs a package",
		"npx -p=":                              "needs a package",
		"npx -p a@1.2.3 -p b@1.2.3 bin":        "more than one package",
		"npx -p a@1.2.3 ../bin":                "not the name of a program",
		"npx -p a@1.2.3 -- -x":                 "not the name of a program",
		"npx -c 'a@1.2.3'":                     "is not supported",
		"npx --registry=http://evil a@1.2.3":   "is not supported",
		"npx --userconfig x a@1.2.3":           "is not supported",
		"npx --no-install a@1.2.3":             "is not supported",
		"bunx --bun a@1.2.3":                   "is not supported",
		"uvx --with b a==1.2.3":                "is not supported",
		"uvx --index-url http://evil a==1.2.3": "is not supported",
		"uvx -p 3.12 a==1.2.3":                 "is not supported",
		"npm exec a@1.2.3":                     "write it with npx",
		"pnpm dlx a@1.2.3":                     "write it with npx",
		"yarn dlx a@1.2.3":                     "write it with npx",
		"pnpx a@1.2.3":                         "write it with npx",
		"bun x a@1.2.3":                        "write it with bunx",
		"npx github:a/b":                       "not the name",
		"npx a/b":                              "not the name",
		"npx a/b@1.2.3":                        "not the name",
		"npx ./a":                              "not the name",
		"npx ..":                               "not the name",
		"npx /a@1.2.3":                         "not the name",
		"npx ~/a@1.2.3":                        "not the name",
		"npx file:a@1.2.3":                     "not the name",
		"npx git+ssh://git@example.org/a.git":  "not the name",
		"npx https://example.org/a-1.2.3.tgz":  "not the name",
		"npx https://user@1.2.3":               "not the name",
		"npx A@1.2.3":                          "not the name",
		"npx .a@1.2.3":                         "not the name",
		"npx _a@1.2.3":                         "not the name",
		"npx @/a@1.2.3":                        "not the name",
		"npx @s/@1.2.3":                        "not the name",
		"npx @s/../a@1.2.3":                    "not the name",
		"npx @s@1.2.3":                         "not the name",
		"npx a%2fb@1.2.3":                      "not the name",
		"npx node_modules@1.2.3":               "not the name",
		"npx a@npm:b@1.2.3":                    "not the name",
		"npx a@npm:b":                          "not a version",
		"npx a@file:../x":                      "not a version",
		"npx a@https://example.org/x.tgz":      "not a version",
		"npx a@1.2.3+build":                    "not a version",
		"npx " + strings.Repeat("a", 215) + "@1.2.3":                              "not the name",
		"npx a@1.2." + strings.Repeat("3", 65):                                    "not a version",
		"npx " + strings.Repeat("a", 214) + "@1.2.3-rc" + strings.Repeat("r", 50): "too long",
		"uvx a[extra]==1.2.3":                                                     "not the name",
		"uvx git+https://example.org/a":                                           "not the name",
		"uvx ./a==1.2.3":                                                          "not the name",
		"uvx a==1.2.3+local":                                                      "not a version",
		"uvx a@git+https://example.org/a":                                         "not a version",
		"pipx run https://example.org/x.py":                                       "not the name",
	} {
		p, args, err := Parse(strings.Fields(command))
		got := fmt.Sprintf("%s %s bin=%s %v", p.Registry, p, p.Bin, args)
		if u, ok := errors.AsType[*UnpinnedError](err); ok {
			got = fmt.Sprintf("%v: %s %s", ErrUnpinned, p.Name, p.Version)
			if !errors.Is(err, ErrUnpinned) || u.Package != p || !strings.Contains(err.Error(), "write an exact one") {
				t.Errorf("Parse(%s) = %v, %v", command, p, err)
			}
		} else if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("Parse(%s) = %s, want %s", command, got, want)
		}
		if (want == ErrNotLauncher.Error()) != errors.Is(err, ErrNotLauncher) {
			t.Errorf("Parse(%s) = %v", command, err)
		}
	}
}

// FuzzParse: what is accepted is one exact version whose name is that of a
// folder and no option, the arguments are the end of the command, and the
// package reads back as it was.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"npx -y a@1.2.3 x", "npx -p @s/a@1.2.3-a.b -- b c", "uvx --from A_b==1.0 b", "pipx run a@1!1.0", "npx a@^1"} {
		f.Add(strings.ReplaceAll(s, " ", "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		command := strings.Split(text, "\n")
		p, args, err := Parse(command)
		if err != nil {
			if p != (Package{}) != errors.Is(err, ErrUnpinned) {
				t.Fatalf("Parse(%q) = %v, %v", command, p, err)
			}
			return
		}
		if len(args) >= len(command) || !slices.Equal(args, command[len(command)-len(args):]) {
			t.Fatalf("Parse(%q) has the arguments %q", command, args)
		}
		folder := p.folderName(strings.Repeat("a", 64))
		if strings.ContainsAny(folder, "/\\\x00:") || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "-") || len(folder) > maxFolder ||
			strings.HasPrefix(p.String(), "-") || strings.HasPrefix(p.Bin, "-") || strings.Contains(p.String(), "..") && strings.Contains(p.Name, "/..") {
			t.Fatalf("Parse(%q) = %+v in the folder %q", command, p, folder)
		}
		again := []string{"npx", "--package=" + p.String(), "b"}
		if p.Registry == PyPI {
			again = []string{"uvx", "--from=" + p.Name + "==" + p.Version, "b"}
		}
		q, _, err := Parse(again)
		if q.Bin = p.Bin; err != nil || q != p {
			t.Fatalf("Parse(%q) = %+v, reads back as %+v, %v", command, p, q, err)
		}
	})
}
