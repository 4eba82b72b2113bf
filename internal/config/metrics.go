package config

import (
	"errors"
	"net"
	"strconv"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// Metrics says who may read the metrics of serve.
type Metrics struct {
	// Listen is the address of a listener for them alone, which asks for no token;
	// empty means none.
	Listen string
}

func metricsKeys() []row {
	return []row{
		{KeyDoc: KeyDoc{"metrics", TypeMapping, false, true, "`/metrics` for principals with the permission `metrics:read`", "Who may read the metrics of `serve`.", "{listen: 127.0.0.1:9464}"}},
		{
			KeyDoc: KeyDoc{"metrics.listen", TypeText, false, true, "no listener of its own", "Address of this machine at which `/metrics` is served without a token.", "127.0.0.1:9464"},
			check:  (*scope).parseLocalAddress, set: func(s *scope, v value) { s.cfg.Metrics.Listen = v.text },
		},
	}
}

// parseLocalAddress reads a host and port that only this machine reaches.
func (s *scope) parseLocalAddress(v string) (string, error) {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return "", errors.New(yamldoc.Quote(v) + ": expected HOST:PORT, such as 127.0.0.1:9464")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return "", errors.New(yamldoc.Quote(port) + " is not a port: expected 0 to 65535")
	}
	if !isLoopback(host) {
		return "", errors.New("expected an address of this machine alone, such as 127.0.0.1: others read /metrics of the server, with a token that has metrics:read")
	}
	return v, nil
}
