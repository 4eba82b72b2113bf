package httpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/httpapi"
)

// ids returns the actions of a listing.
func (k *kit) ids(path, token string) []string {
	k.t.Helper()
	got := k.do("GET", path, "", "Authorization", "Bearer "+token)
	var list []struct{ ID string }
	if err := json.Unmarshal(got.body.Data, &list); err != nil || got.status != 200 {
		k.t.Fatalf("GET %s = %d %s", path, got.status, got.text)
	}
	out := []string{}
	for _, a := range list {
		out = append(out, a.ID)
	}
	return out
}

func TestActionsListsWhatTheCallerSees(t *testing.T) {
	k := newKit(t, nil)
	if got := k.ids("/v1/actions", "bob"); !slices.Equal(got, []string{"echo", "whoami"}) {
		t.Errorf("bob sees %q", got)
	}
	everything := k.ids("/v1/actions", "alice")
	if !slices.IsSorted(everything) || !slices.Contains(everything, "sum") || slices.Contains(everything, "asleep") {
		t.Errorf("alice sees %q, want all that is available, sorted", everything)
	}
	if got := k.ids("/v1/actions?personality=reader", "alice"); !slices.Equal(got, []string{"echo", "whoami"}) {
		t.Errorf("alice as reader sees %q", got)
	}
}

func TestAFilterGivesActionsThatShareAPermission(t *testing.T) {
	k := newKit(t, nil)
	for query, want := range map[string][]string{
		"permissions=files:write":                         {"write"},
		"permissions=mail:read,files:write":               {"send", "write"},
		"permissions=mail:read&permissions=files%3Awrite": {"send", "write"},
		"permissions=nothing":                             {},
	} {
		if got := k.ids("/v1/actions?"+query, "alice"); !slices.Equal(got, want) {
			t.Errorf("%s gives %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{
		"permissions=", "permissions=a,,b", "permission=a", "permissions=a;b", "personality=a&personality=b", "personality=%00", "x", "permissions=%zz",
	} {
		if got := k.do("GET", "/v1/actions?"+query, ""); got.status != 400 || got.body.Code != sallyport.CodeInputInvalid {
			t.Errorf("%s = %d %s, want 400", query, got.status, got.text)
		}
	}
}

func TestActionDescribesOne(t *testing.T) {
	k := newKit(t, nil)
	got := k.do("GET", "/v1/actions/echo", "")
	want := `{"id":"echo","name":"Echo","description":"Returns its arguments as they arrived.","toolset":"text","parameters":{"type":"object"},` +
		`"permissions":[],"readOnly":true,"destructive":false,"idempotent":true,"openWorld":false}`
	if diff := cmp.Diff(want, string(got.body.Data)); got.status != 200 || diff != "" {
		t.Errorf("echo = %d (-want +got):\n%s", got.status, diff)
	}
	unknown := k.do("GET", "/v1/actions/nothing", "", "Authorization", "Bearer bob")
	hidden := k.do("GET", "/v1/actions/sum", "", "Authorization", "Bearer bob")
	if unknown.status != 404 || hidden.status != 404 || unknown.body.Code != sallyport.CodeNotAvailable ||
		strings.ReplaceAll(hidden.text, "sum", "nothing") != unknown.text {
		t.Errorf("unknown = %d %s, hidden = %d %s; want the same 404", unknown.status, unknown.text, hidden.status, hidden.text)
	}
	for _, path := range []string{"/v1/actions/a%2Fb", "/v1/actions/" + strings.Repeat("x", 5000), "/v1/actions/%2e%2e", "/v1/actions/echo%00"} {
		if got := k.do("GET", path, ""); got.status != 404 || len(got.text) > 300 {
			t.Errorf("%.40s = %d %.300s, want a short 404", path, got.status, got.text)
		}
	}
}

func TestWindowIsWrittenAsInTheConfiguration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1s", 90 * time.Second: "90s", time.Minute: "1m", time.Hour: "1h", 36 * time.Hour: "36h", 48 * time.Hour: "2d",
	} {
		if got := httpapi.Window(d); got != want {
			t.Errorf("window(%v) = %q, want %q", d, got, want)
		}
	}
}
