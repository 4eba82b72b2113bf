package command

import (
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
)

func versionCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program, with its commit and date",
		Example: "  sallyport version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := app.ReadBuild()
			date := ""
			if !b.Date.IsZero() {
				date = b.Date.UTC().Format(time.RFC3339)
			}
			v := map[string]any{
				"version": b.Version, "commit": b.Commit, "modified": b.Modified, "date": date,
				"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			}
			return env.newPrinter(f).PrintAnswer(v, "sallyport %s (%s, %s/%s)", b, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
