package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/config"
)

const (
	// tlsPause is how often it is looked whether a file of TLS has changed.
	tlsPause = time.Second
	// maxTLSFile bounds such a file, in bytes.
	maxTLSFile = 1 << 20
	// maxStreams bounds the requests of one connection of HTTP/2 at the same time.
	maxStreams = 100
)

// certificates is the configuration of TLS as the files have it now. Files that cannot
// be used leave the last good ones in force. It is safe for concurrent use.
type certificates struct {
	c      config.TLS
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	looked  time.Time
	stamp   string // of the files that were read last
	current *tls.Config
}

// openCertificates reads the files, which have to be good at the start.
func openCertificates(c *config.TLS, logger *slog.Logger) (*certificates, error) {
	s := &certificates{c: *c, logger: logger, now: time.Now}
	s.stamp, s.looked = s.stampFiles(), s.now()
	var err error
	s.current, err = s.readFiles()
	return s, err
}

// tlsConfig returns the configuration of a server, which asks for the files at each
// handshake.
func (s *certificates) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.refreshFiles(), nil },
	}
}

// refreshFiles returns what is in force, and looks at the files once in a while.
func (s *certificates) refreshFiles() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.looked) < tlsPause {
		return s.current
	}
	s.looked = now
	stamp := s.stampFiles()
	if stamp == s.stamp {
		return s.current
	}
	s.stamp = stamp
	next, err := s.readFiles()
	if err != nil {
		s.logger.Warn("the files of TLS have changed and are not in force", "error", err)
		return s.current
	}
	s.logger.Info("the files of TLS have changed and are in force")
	s.current = next
	return next
}

// stampFiles returns a text that changes with the files.
func (s *certificates) stampFiles() (stamp string) {
	for _, path := range []string{s.c.Cert, s.c.Key, s.c.ClientCA} {
		if info, err := os.Stat(path); err == nil {
			stamp += fmt.Sprintf("%d %d;", info.Size(), info.ModTime().UnixNano())
		} else {
			stamp += "-;"
		}
	}
	return stamp
}

// readFiles reads the files.
func (s *certificates) readFiles() (*tls.Config, error) {
	cert, err := readBounded(s.c.Cert)
	if err != nil {
		return nil, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := readBounded(s.c.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}
	if s.c.ClientCA == "" {
		return c, nil
	}
	authorities, err := readBounded(s.c.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls.client_ca: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !c.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, errors.New("tls.client_ca: the file has no certificate")
	}
	return c, nil
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxTLSFile {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxTLSFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// certificatePrincipal returns whose a client certificate is, whose chain was verified:
// the principal that its common name names. It is no principal's once it has expired, and
// never the local user's.
func certificatePrincipal(callers *auth.Directory) func(context.Context, *x509.Certificate) (sallyport.Principal, bool, error) {
	return func(ctx context.Context, c *x509.Certificate) (p sallyport.Principal, ok bool, err error) {
		name := c.Subject.CommonName
		if name == "" || name == sallyport.LocalPrincipal || time.Now().After(c.NotAfter) {
			return p, false, nil
		}
		return callers.Named(ctx, name)
	}
}
