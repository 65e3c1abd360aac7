package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tls reads the certificates anew, as they may have been replaced.
func (o *options) tls() (*tls.Config, error) {
	if o.key == "" || o.cert == "" || o.ca == "" {
		return nil, fmt.Errorf("ssl: needs --private-key, --certificate and --ca-cert")
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", o.ca)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		// The servers are known by their authority, not by name, as OVS has it
		// (ovs-pki(8)): the chain is verified here.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			inter := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				inter.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: inter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			return err
		},
	}, nil
}
