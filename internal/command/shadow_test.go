package command

import (
	"strings"
	"testing"
)

// TestAShadowIsJudgedUntilItIsPromoted: a second configuration is judged beside the one
// in force, reloaded like it, and decides nothing before it is promoted.
func TestAShadowIsJudgedUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	dir, text, _ := reloadFolder(t)
	closed := strings.Replace(text, `toolset: ["@action"]`, `toolset: []`, 1)
	place(t, dir, "new.yaml", text+"# the same\n")
	s := serveWatched(t, dir, "--shadow", "new.yaml")
	token, paris := tokenOf("reader"), `{"location":"Paris"}`
	s.wants(t, token, "get-weather", paris, 200)

	change := func(text, want string) {
		t.Helper()
		from := s.told.len()
		place(t, dir, "new.yaml", text)
		s.told.await(t, from, want)
	}
	change("version: 3\n", "the shadow new.yaml has changed and is not judged; the last good one is:")
	change(closed, "the shadow new.yaml has changed and is judged")
	s.wants(t, token, "get-weather", paris, 200)

	from := s.told.len()
	runSallyport(t, dir, "promote", "new.yaml", "--yes")
	s.told.await(t, from, inForce)
	s.wants(t, token, "get-weather", paris, 404)
	s.stop(t)

	flips := 0
	for _, e := range records(t, dir) {
		if e.Kind == "change" && e.Change.Action == "shadow.flip" {
			flips++
		}
	}
	if told := s.told.await(t, 0, "judged 3 calls"); flips != 1 || !strings.Contains(told, "the shadow new.yaml judged 3 calls: 2 the same, 1 flipped; 0 not replayable, 0 not judged") {
		t.Errorf("%d flips are recorded, and serve told\n%s", flips, told)
	}
}
