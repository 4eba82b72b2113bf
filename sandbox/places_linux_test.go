package sandbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/registry"
)

// onlyRole is a lookup of one personality.
type onlyRole struct{ p *sallyport.Personality }

func (r onlyRole) Personality(string) (*sallyport.Personality, bool) { return r.p, true }

// TestA1_A2_EverySurfaceAgrees has children change a folder that others are granted
// parts of, and asks the accessor, a child, a child in a private layer, explain and
// a fresh process about each part. The model is the disk: a part is granted when
// its path has no link.
func TestA1_A2_EverySurfaceAgrees(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	r := open(t, &Options{Warm: -1})
	w := workspace(t, r)
	w.write("data/s", "inside")
	w.write("deep/inner/s", "inside")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "s"), []byte("SECRET"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(outside, 0o777); err != nil {
		t.Fatal(err)
	}
	parts := []string{w.dir + "/data", w.dir + "/deep/inner", w.dir + "/late"}
	steps := []string{
		"mv data data.old; ln -s " + outside + " data", "rm -f data; mv data.old data", "mv deep d2; mkdir deep; ln -s " + outside + " deep/inner",
		"rm -rf deep; mv d2 deep", "ln -s " + outside + " late", "rm -f late; mkdir -p late; echo inside >late/s", "mv data deep/x; ln -s deep/x data",
		"rm -f data; mv deep/x data", "rm -rf late", "mv deep deep.old; ln -s deep.old deep", "rm -f deep; mv deep.old deep",
	}
	ledger := places.Options{Workspace: w.dir, Writes: []places.Write{{Path: w.dir, By: "personality writer"}}}
	running, err := places.NewMap(t.Context(), ledger)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 16 {
		step := steps[rnd.IntN(len(steps))]
		if round < len(steps) {
			step = steps[round]
		}
		w.sh("{ " + step + "; } 2>/dev/null; true")
		fresh, err := places.NewMap(t.Context(), ledger)
		if err != nil {
			t.Fatal(err)
		}
		for where, m := range map[string]*places.Map{"running": running, "fresh": fresh} {
			a := asker{t: t, r: r, dir: w.dir, parts: parts, places: m}
			for _, part := range parts {
				want := "withheld"
				if real, err := filepath.EvalSymlinks(part); err != nil || real == part {
					want = "granted"
				}
				_, err := os.Stat(part + "/s")
				there := err == nil && want == "granted"
				for surface, got := range a.answers(part) {
					if strings.Contains(got, "SECRET") {
						t.Fatalf("round %d (%s), %s: %s of %s reads outside", round, step, where, surface, part)
					}
					switch surface {
					case "explain", "place":
						if got != want {
							t.Errorf("round %d (%s), %s: %s says of %s %q, want %q", round, step, where, surface, part, got, want)
						}
					default:
						if (got == "inside") != there {
							t.Errorf("round %d (%s), %s: %s of %s gives %q, the file is granted and there: %v", round, step, where, surface, part, got, there)
						}
					}
				}
			}
		}
		if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
			t.Fatalf("round %d (%s): something was written outside: %v, %v", round, step, names, err)
		}
	}
}

// asker asks every surface about a part.
type asker struct {
	t      *testing.T
	r      *Runner
	dir    string
	parts  []string
	places *places.Map
}

func (a *asker) answers(part string) map[string]string {
	a.t.Helper()
	out := map[string]string{"place": "granted"}
	if a.places.Place(part).Why != "" {
		out["place"] = "withheld"
	}
	for _, mode := range []sallyport.FSMode{sallyport.FSDirect, sallyport.FSOverlay} {
		reach := &sallyport.Reach{Read: a.parts, Write: a.parts, Mode: mode}
		reg, err := registry.New(&sallyport.Backends{
			Personalities: onlyRole{&sallyport.Personality{Name: "reader", FSReach: reach}},
			Places:        a.places, Files: &sallyport.FileBackend{}, Process: a.r,
		}, &registry.Options{Workspace: a.dir})
		if err != nil {
			a.t.Fatal(err)
		}
		read := sallyport.Tool{
			Name: "ask", Schema: []byte(`{"type":"object"}`),
			Capabilities: sallyport.Capabilities{
				FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality()},
				Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"*"}},
			},
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				data, err := c.FS.ReadFile(part + "/s")
				out["accessor"] = strings.TrimSpace(string(data))
				if err != nil {
					out["accessor"] = err.Error()
				}
				res, err := c.Process.Spawn(ctx, "sh", []string{"-c", "cat " + part + "/s; touch " + part + "/touched 2>/dev/null; true"}, nil)
				out["child "+string(mode)] = strings.TrimSpace(string(res.Stdout))
				if err != nil {
					out["child "+string(mode)] = fmt.Sprint(err)
				}
				return sallyport.OK("done"), nil
			},
		}
		if err := reg.Register(read); err != nil {
			a.t.Fatal(err)
		}
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "reader", Workspace: a.dir}
		if res := reg.Call(a.t.Context(), caller, sallyport.Request{Tool: "ask", Args: []byte(`{}`)}); !res.OK {
			a.t.Fatalf("the call fails: %+v", res)
		}
		x, err := reg.Explain(caller, "ask")
		if err != nil {
			a.t.Fatal(err)
		}
		out["explain"] = "granted"
		for _, d := range x.Grant.Dropped {
			if d.Item == part && d.Linked && !strings.Contains(d.Why, "does not exist") {
				out["explain"] = "withheld"
			}
		}
		if err := reg.Close(a.t.Context()); err != nil {
			a.t.Fatal(err)
		}
	}
	return out
}
