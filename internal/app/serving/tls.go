package serving

import (
	"context"
	"crypto/sha256"
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
	// maxVouched bounds the certificates that are remembered as vouched for.
	maxVouched = 1024
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
	vouched map[[sha256.Size]byte]bool // certificates that client_ca vouches for, by digest
}

// openCertificates reads the files, which have to be good at the start. It returns nil
// without a configuration of TLS.
func openCertificates(c *config.TLS, logger *slog.Logger) (*certificates, error) {
	if c == nil {
		return nil, nil
	}
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
	s.current, s.vouched = next, nil
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

// findPrincipal returns a function that says whose a client certificate is: the
// principal that its common name names. It is no principal's once it has expired or
// client_ca no longer vouches for it, however old the connection is, and never the
// local user's.
func (s *certificates) findPrincipal(callers *auth.Directory) func(context.Context, []*x509.Certificate) (sallyport.Principal, bool, error) {
	return func(ctx context.Context, chain []*x509.Certificate) (p sallyport.Principal, ok bool, err error) {
		name := chain[0].Subject.CommonName
		if name == "" || name == sallyport.LocalPrincipal || s.now().After(chain[0].NotAfter) || !s.vouchesFor(chain) {
			return p, false, nil
		}
		return callers.Named(ctx, name)
	}
}

// vouchesFor reports whether client_ca, as it is now, vouches for a certificate of a
// client.
func (s *certificates) vouchesFor(chain []*x509.Certificate) bool {
	authorities := s.refreshFiles().ClientCAs
	if authorities == nil {
		return false
	}
	own := sha256.Sum256(chain[0].Raw)
	s.mu.Lock()
	known := s.vouched[own]
	s.mu.Unlock()
	if known {
		return true
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: between, CurrentTime: s.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.ClientCAs == authorities && len(s.vouched) < maxVouched {
		if s.vouched == nil {
			s.vouched = map[[sha256.Size]byte]bool{}
		}
		s.vouched[own] = true
	}
	return true
}
