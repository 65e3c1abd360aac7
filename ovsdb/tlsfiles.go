package ovsdb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TLSFiles say how an ssl: remote is connected to, as the PKI options of OVS's
// programs do (ovsdb-client(1), "Public Key Infrastructure Options").
type TLSFiles struct {
	PrivateKey, Certificate string // PEM files: who we are
	// CACert is a PEM file with the authority that servers' certificates are signed
	// by, or "none", with which any server is taken for the right one.
	CACert     string
	ServerName string // to ask for by SNI, "" for the host that is connected to
	MinVersion uint16 // of package crypto/tls; 0 for TLS 1.2
	MaxVersion uint16 // 0 for the newest
	Ciphers    string // of TLS 1.2, see ParseCiphers; "" for all that are safe
}

// Check reports what is missing for any connection by TLS.
func (f TLSFiles) Check() error {
	if f.PrivateKey == "" || f.Certificate == "" || f.CACert == "" {
		return errors.New("an ssl: address needs --private-key, --certificate and --ca-cert")
	}
	return nil
}

// Config reads the files. It is for Options.TLS, which is asked for each connection:
// files that are replaced while the program runs count from the next connection on.
// A key and a certificate that do not belong together, as when one of them has been
// replaced and the other has not yet, are an error.
func (f TLSFiles) Config() (*tls.Config, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(f.Certificate, f.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Certificate, f.PrivateKey, err)
	}
	ciphers, err := ParseCiphers(f.Ciphers)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		ServerName:   f.ServerName,
		MinVersion:   max(f.MinVersion, tls.VersionTLS12),
		MaxVersion:   f.MaxVersion,
		CipherSuites: ciphers,
		// Servers are known by their authority, not by name (ovs-pki(8)): their
		// certificates are verified below.
		InsecureSkipVerify: true,
	}
	if f.CACert == "none" {
		return config, nil
	}
	pem, err := os.ReadFile(f.CACert)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", f.CACert)
	}
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
		for _, c := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(o)
		return err
	}
	return config, nil
}

// ParseTLSVersions reads a list of versions, such as "TLSv1.2,TLSv1.3", or a range,
// "TLSv1.2-TLSv1.3" or "TLSv1.2+".
func ParseTLSVersions(s string) (lowest, highest uint16, err error) {
	known := map[string]uint16{"tlsv1.2": tls.VersionTLS12, "tlsv1.3": tls.VersionTLS13}
	for _, word := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ',' || r == ' ' || r == '-' }) {
		name, open := strings.CutSuffix(word, "+")
		v, ok := known[name]
		if !ok {
			return 0, 0, fmt.Errorf("no version %q of TLS; there are TLSv1.2 and TLSv1.3", name)
		}
		if lowest == 0 || v < lowest {
			lowest = v
		}
		if highest = max(highest, v); open {
			highest = tls.VersionTLS13
		}
	}
	if lowest == 0 {
		return 0, 0, fmt.Errorf("no version of TLS in %q", s)
	}
	return lowest, highest, nil
}

// ParseCiphers reads OpenSSL's names of cipher suites of TLS 1.2, with colons between
// them, such as "ECDHE-RSA-AES256-GCM-SHA384".
func ParseCiphers(s string) (suites []uint16, err error) {
	known := map[string]uint16{}
	for _, c := range tls.CipherSuites() {
		// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256.
		name := strings.NewReplacer("TLS_", "", "WITH_", "", "AES_128", "AES128", "AES_256", "AES256", "POLY1305_SHA256", "POLY1305", "_CBC_SHA", "_SHA").Replace(c.Name)
		known[strings.ReplaceAll(name, "_", "-")] = c.ID
	}
	for _, name := range strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == ',' || r == ' ' }) {
		id, ok := known[strings.ToUpper(name)]
		if !ok {
			return nil, fmt.Errorf("cipher suite %q is not supported", name)
		}
		suites = append(suites, id)
	}
	return suites, nil
}
