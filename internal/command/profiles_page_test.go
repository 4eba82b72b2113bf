package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/profiles"
)

//go:generate go test -run ^TestProfilesPage$ -update

const profilesPage = "../../docs/reference/profiles.md"

// TestProfilesPage compares the generated part of the page with the profiles, and
// leaves the part that `make profiles` writes.
func TestProfilesPage(t *testing.T) {
	have, err := os.ReadFile(profilesPage)
	if err != nil && !(*update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	want := formatProfiles(parseStartResults(string(have)))
	if *update {
		if err := os.WriteFile(profilesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(have) {
		t.Error("docs/reference/profiles.md differs from the profiles: run make generate")
	}
}

// startResult is what starting a server showed.
type startResult struct {
	// Date is the day, such as 2026-11-23, Version the version of the package.
	Date, Version string
	// Tools is the number of tools that the server listed; zero means none.
	Tools int
	// Milliseconds is the time until then, with the start of the server.
	Milliseconds int
	// Proof is true when the call that the profile names succeeded.
	Proof bool
	// Remark says why this version was taken, or what failed.
	Remark string
}

// parseStartResults returns the results that a page holds, by profile.
func parseStartResults(page string) map[string]startResult {
	results := map[string]startResult{}
	_, part, _ := strings.Cut(page, resultsTitle+"\n")
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 {
			continue
		}
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		r := startResult{Date: cells[1], Version: cells[2], Proof: cells[5] == "yes", Remark: cells[6]}
		var errTools, errTime error
		r.Tools, errTools = strconv.Atoi(cells[3])
		r.Milliseconds, errTime = strconv.Atoi(cells[4])
		if errTools == nil && errTime == nil {
			results[cells[0]] = r
		}
	}
	return results
}

// resultsTitle begins the part of the page that make profiles writes.
const resultsTitle = "## Started"

// writeStartResults writes the table that parseStartResults reads.
func writeStartResults(b *strings.Builder, results map[string]startResult) {
	fmt.Fprint(b, "\n"+resultsTitle+`

Written by `+"`make profiles`"+`, which declares each server from npm as import does, with placeholders for secrets, installs and pins it, lists its tools and makes the first call
that its profile names. A server that is not listed here was not started.

| profile | on | version | tools | ms | first call | remark |
| --- | --- | --- | --- | --- | --- | --- |
`)
	for _, name := range slices.Sorted(maps.Keys(results)) {
		r := results[name]
		proof := "no"
		if r.Proof {
			proof = "yes"
		} else if !hasProof(name) {
			proof = "none"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d | %d | %s | %s |\n", name, r.Date, r.Version, r.Tools, r.Milliseconds, proof, strings.ReplaceAll(r.Remark, "|", "/"))
	}
}

// formatProfiles returns the reference page of all profiles, with the results of
// starting them at its end.
func formatProfiles(results map[string]startResult) string {
	var b strings.Builder
	fmt.Fprint(&b, `# Known servers

Generated from `+"`internal/profiles`"+`; do not edit. [Importing](../guides/import.md#known-servers) says what import does with a profile. A name in the first column is the profile's;
client files name a server by its package, image or address. Hosts and programs are proposed with the declaration; no secret goes to a host that neither the client's file nor a flag names.
No server from PyPI and no remote one was tried.

| profile | named by | proposed | secrets | remarks |
| --- | --- | --- | --- | --- |
`)
	for _, p := range profiles.All() {
		fmt.Fprintf(&b, "| **%s** %s | %s | %s | %s | %s |\n", p.Name, p.Title, describeNames(p), describeProposal(p), describeSecrets(p), describeRemarks(p))
	}
	writeEffects(&b)
	if len(results) > 0 {
		writeStartResults(&b, results)
	}
	return b.String()
}

func describeNames(p *profiles.Profile) string {
	var parts []string
	for _, kind := range []struct {
		title string
		names []string
	}{{"npm", p.Match.NPM}, {"PyPI", p.Match.PyPI}, {"image", p.Match.Images}, {"remote", p.Match.URLs}} {
		if len(kind.names) > 0 {
			parts = append(parts, kind.title+" `"+strings.Join(kind.names, "`, `")+"`")
		}
	}
	return strings.Join(parts, "<br>")
}

func describeProposal(p *profiles.Profile) string {
	var parts []string
	if p.Refused != "" {
		return "nothing"
	}
	if l := p.Instead; l != nil {
		parts = append(parts, "in its place `"+l.NPM+l.PyPI+l.URL+"`")
	}
	if p.Version != "" {
		parts = append(parts, "version "+p.Version)
	}
	if hosts := p.Hosts(); len(hosts) > 0 {
		parts = append(parts, "hosts `"+strings.Join(hosts, "`, `")+"`")
	}
	if c := p.Capabilities.Process; c != nil {
		parts = append(parts, "programs `"+strings.Join(c.AllowedBinaries, "`, `")+"`")
	}
	if p.Arguments.Paths == profiles.Write {
		parts = append(parts, "writes what its arguments name")
	}
	if keepsState(p) {
		parts = append(parts, "a folder for its state")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if v := p.Env[name]; v.Set != "" {
			parts = append(parts, "`"+name+"="+v.Set+"`")
		}
	}
	if len(p.Arguments.Add) > 0 {
		parts = append(parts, "`"+strings.Join(p.Arguments.Add, " ")+"`")
	}
	if len(p.Beside) > 0 {
		parts = append(parts, "needs Debian's `"+strings.Join(p.Beside, "`, `")+"`")
	}
	return strings.Join(parts, "<br>")
}

// keepsState reports whether the server gets a folder of its own.
func keepsState(p *profiles.Profile) bool {
	for _, v := range p.Env {
		if v.State != "" {
			return true
		}
	}
	return p.Capabilities.FSReach != nil
}

func describeSecrets(p *profiles.Profile) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if p.Env[name].Secret {
			names = append(names, "`"+name+"`")
		}
	}
	for _, option := range slices.Sorted(maps.Keys(p.Arguments.Secrets)) {
		names = append(names, "`"+option+"`")
	}
	return strings.Join(names, "<br>")
}

func describeRemarks(p *profiles.Profile) string {
	parts := slices.Clone(p.Remarks)
	if p.Refused != "" {
		parts = append(parts, p.Refused)
	}
	if p.Remote != nil {
		parts = append(parts, p.Remote.Remarks...)
		login := map[profiles.Login]string{profiles.LoginNone: "wants no login", profiles.LoginOAuth: "wants a login", profiles.LoginToken: "takes a token"}
		parts = append(parts, fmt.Sprintf("remote, not tried: `%s` %s", p.Remote.URL, login[p.Remote.Login]))
	}
	return strings.Join(parts, "<br>")
}

// hasProof reports whether a profile names a call that shows that its server works.
func hasProof(name string) bool {
	return slices.ContainsFunc(profiles.All(), func(p *profiles.Profile) bool { return p.Name == name && p.Proof != nil })
}

// writeEffects writes what the tools of known servers do, as the page shows it.
func writeEffects(b *strings.Builder) {
	fmt.Fprint(b, `
## What their tools do

Import writes this as `+"`effects`"+` into the declaration, where you change what you see otherwise; see [what a tool does](../guides/arguments.md#what-a-tool-does). It was read of the tools that the
package lists, and is of no other package. A tool that is not here counts by what it may touch. An argument in brackets says where something goes.

| profile | does | tools |
| --- | --- | --- |
`)
	for _, p := range profiles.All() {
		tools := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(p.Effects)) {
			does := make([]string, len(p.Effects[name].Does))
			for i, e := range p.Effects[name].Does {
				does[i] = string(e)
			}
			what := strings.Join(does, ", ")
			if to := slices.Sorted(maps.Keys(p.Effects[name].Destinations)); len(to) > 0 {
				name += " (" + strings.Join(to, ", ") + ")"
			}
			tools[what] = append(tools[what], "`"+name+"`")
		}
		for _, what := range slices.Sorted(maps.Keys(tools)) {
			fmt.Fprintf(b, "| %s | %s | %s |\n", p.Name, what, strings.Join(tools[what], ", "))
		}
	}
}
