package profiles

import (
	"embed"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

//go:embed data/*.yaml
var files embed.FS

// bounds are what the text of one profile may have.
var bounds = yamldoc.Bounds{Bytes: 64 << 10, YAMLBytes: 64 << 10, YAMLKeys: 400}
