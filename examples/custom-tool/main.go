// Command custom-tool is Sallyport with one more tool.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/program"
	"github.com/sallyport/sallyport/schema"
)

func main() { program.Main(wordCount()) }

type wordCountInput struct {
	Path string `json:"path" jsonschema:"Text file whose words are counted."`
}

// wordCount reads one file of those that the personality may read.
func wordCount() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name:         "word_count",
		Description:  "Count the words of a text file.",
		Toolset:      "text",
		ReadOnly:     true,
		Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}},
	}, countWords)
}

func countWords(_ context.Context, c *sallyport.Call, in wordCountInput) (sallyport.Result, error) {
	text, err := c.FS.ReadFile(in.Path)
	if err != nil {
		return sallyport.Result{}, err
	}
	return sallyport.OK(fmt.Sprint(len(strings.Fields(string(text))), " words")), nil
}
