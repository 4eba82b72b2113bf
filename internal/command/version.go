package command

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
)

func versionCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  sallyport version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": app.Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			return env.newPrinter(f).PrintAnswer(v, "sallyport %s (%s, %s/%s)", v["version"], v["go"], v["os"], v["arch"])
		},
	}
}
