// Command custom-tool is Sallyport with one more tool.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/program"
	"github.com/sallyport/sallyport/schema"
)

func main() { program.Main(openIssues()) }

// token is the name of a secret. The operator gives it a value.
const token = "providers/github/token"

type openIssuesInput struct {
	Repository string `json:"repository" jsonschema:"Owner and name, such as golang/go."`
	Host       string `json:"host,omitempty" jsonschema:"The host of the API." default:"api.github.com"`
}

// openIssues is the tool: what it is and what it touches.
func openIssues() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name:        "open_issues",
		Description: "Count the open issues of a GitHub repository.",
		Toolset:     "github",
		ReadOnly:    true,
		Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.github.com", "*.ghe.com"}},
			Secrets: []string{token},
		},
	}, countOpenIssues)
}

// countOpenIssues is what the tool does. It has no way out but its call c.
func countOpenIssues(ctx context.Context, c *sallyport.Call, in openIssuesInput) (sallyport.Result, error) {
	key, err := c.Secrets.Get(ctx, token)
	if err != nil {
		return sallyport.Result{}, err // as it is: its code stays in front
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+in.Host+"/repos/"+in.Repository, nil)
	if err != nil {
		return sallyport.Err("the repository or the host is not well formed", sallyport.CodeInputInvalid), nil
	}
	req.Header.Set("Authorization", "Bearer "+key.Reveal())
	res, err := c.Network.Client().Do(req)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return sallyport.Result{}, err
	}
	var repository struct {
		Open int `json:"open_issues_count"`
	}
	if res.StatusCode != http.StatusOK || json.Unmarshal(text, &repository) != nil {
		return sallyport.Err(fmt.Sprintf("%s answers %s", in.Host, res.Status), ""), nil
	}
	return sallyport.OK(fmt.Sprint(repository.Open, " open issues")), nil
}
