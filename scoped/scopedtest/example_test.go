package scopedtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

var weather = sallyport.Tool{
	Name: "get-weather",
	Capabilities: sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.openweathermap.org"}},
		Secrets: []string{"providers/openweather/apiKey"},
	},
	Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var in struct {
			Location string `json:"location"`
		}
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return sallyport.Result{}, err
		}
		key, err := c.Secrets.Get(ctx, "providers/openweather/apiKey")
		if err != nil {
			return sallyport.Result{}, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.openweathermap.org/data/2.5/weather?q="+in.Location, nil)
		if err != nil {
			return sallyport.Result{}, err
		}
		req.Header.Set("X-Api-Key", key.Reveal())
		res, err := c.Network.Client().Do(req)
		if err != nil {
			return sallyport.Result{}, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return sallyport.OK(string(body)), err
	},
}

// A test of a tool gives it hosts and secrets, looks at its answer, and holds
// its declaration to what it touched.
func ExampleNewCall() {
	t := &exampleT{} // in a test, its *testing.T
	defer t.done()
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: weather.Capabilities,
		Args:         json.RawMessage(`{"location":"Oslo"}`),
		Secrets:      map[string]string{"providers/openweather/apiKey": "correct horse"},
		Hosts: map[string]http.Handler{
			"api.openweathermap.org": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "rain in %s", r.FormValue("q"))
			}),
		},
	})
	res, err := weather.Run(context.Background(), c)
	fmt.Println(res.Value, err)
	for _, touch := range scopedtest.Touched(c) {
		fmt.Println("touched:", touch)
	}
	fmt.Println("declared for nothing:", scopedtest.Unused(c))
	fmt.Println("the host saw the key:", scopedtest.RecordOf(c).Requests()[0].Header.Get("X-Api-Key"))
	// Output:
	// rain in Oslo <nil>
	// touched: network api.openweathermap.org
	// touched: secrets providers/openweather/apiKey
	// declared for nothing: []
	// the host saw the key: correct horse
}

// exampleT stands in for a *testing.T, which examples do not have.
type exampleT struct{ cleanups []func() }

func (*exampleT) Helper() {}

func (*exampleT) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (t *exampleT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *exampleT) TempDir() string {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func (t *exampleT) done() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}
