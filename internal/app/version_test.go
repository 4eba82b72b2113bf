package app

import (
	"runtime/debug"
	"testing"
)

func TestTheBuildSaysCommitAndDate(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	own := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}, Settings: settings}
	}
	commit := setting("vcs.revision", "0123456789abcdef0123456789abcdef01234567")
	at, changed := setting("vcs.time", "2026-11-26T15:05:01+01:00"), setting("vcs.modified", "true")
	other := own("v9.9.9", commit, at)
	other.Main.Path, other.Deps = "example.com/own", []*debug.Module{{Path: path, Version: "v1.2.3"}}
	for _, tt := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{own("(devel)"), "dev"},
		{own("(devel)", commit, at), "dev, commit 0123456789ab, 2026-11-26T14:05:01Z"},
		{own("(devel)", commit, at, changed), "dev, commit 0123456789ab with changes, 2026-11-26T14:05:01Z"},
		{own("v1.2.3", commit, at), "v1.2.3, commit 0123456789ab, 2026-11-26T14:05:01Z"},
		{own("v0.0.0-20261126140501-abcdef012345"), "v0.0.0-20261126140501-abcdef012345, commit abcdef012345, 2026-11-26T14:05:01Z"},
		{own("v1.2.3", setting("vcs.time", "yesterday")), "v1.2.3"},
		{other, "v1.2.3"}, // the commit is that of the other program
	} {
		if got := describeBuild(tt.info).String(); got != tt.want {
			t.Errorf("%+v is described as %q, want %q", tt.info, got, tt.want)
		}
	}
}
