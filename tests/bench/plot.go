package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// plot draws latency against size, both logarithmic: a panel for each edit, with
// a line for each northd. It is SVG.
type plot struct {
	w            strings.Builder
	minX, maxX   float64 // ports
	minY, maxY   float64 // ms
	measurements []measurement
}

// Sizes of the picture, in pixels.
const (
	panelColumns = 5
	panelWidth   = 250
	panelHeight  = 180
	panelLeft    = 48 // room beside the axes
	panelRight   = 36
	panelTop     = 24
	panelBottom  = 26
	titleHeight  = 56
)

var colours = map[string]string{nameFloor: "#888888", nameNorthwall: "#0868ac", nameStock: "#d95f0e"}

// drawing is the order of the lines, the last on top.
var drawing = []string{nameFloor, nameStock, nameNorthwall}

func writePlot(to io.Writer, title string, all []measurement) error {
	p := &plot{measurements: all, minX: math.Inf(1), minY: math.Inf(1)}
	for _, m := range all {
		p.minX, p.maxX = min(p.minX, float64(m.ports())), max(p.maxX, float64(m.ports()))
		for _, e := range edits {
			for _, r := range m.of {
				if d, ok := r.p50(e.Name); ok {
					p.minY, p.maxY = min(p.minY, inMS(d)), max(p.maxY, inMS(d))
				}
			}
		}
	}
	p.minY, p.maxY = decade(p.minY, math.Floor), decade(p.maxY, math.Ceil)
	rows := (len(edits) + panelColumns - 1) / panelColumns
	width, height := panelColumns*panelWidth, titleHeight+rows*panelHeight
	fmt.Fprintf(&p.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="10">`+"\n", width, height, width, height)
	fmt.Fprintf(&p.w, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	p.text(10, 20, "start", "black", `font-size="14"`, title)
	x := 10.0
	for _, name := range []string{nameFloor, nameNorthwall, nameStock} {
		fmt.Fprintf(&p.w, `<line x1="%g" y1="38" x2="%g" y2="38" stroke="%s" stroke-width="2"/>`+"\n", x, x+20, colours[name])
		p.text(x+26, 42, "start", "black", `font-size="12"`, name)
		x += 110
	}
	for i, e := range edits {
		p.panel(float64(i%panelColumns*panelWidth), float64(titleHeight+i/panelColumns*panelHeight), e.Name)
	}
	p.w.WriteString("</svg>\n")
	_, err := io.WriteString(to, p.w.String())
	return err
}

// panel draws one edit with its upper left corner at x, y.
func (p *plot) panel(x, y float64, edit string) {
	left, right := x+panelLeft, x+panelWidth-panelRight
	top, bottom := y+panelTop, y+panelHeight-panelBottom
	atX := func(ports float64) float64 { return left + (right-left)*fraction(ports, p.minX, p.maxX) }
	atY := func(ms float64) float64 { return bottom - (bottom-top)*fraction(ms, p.minY, p.maxY) }
	p.text(left, top-8, "start", "black", `font-weight="bold"`, edit)
	for v := p.minY; v <= p.maxY*1.01; v *= 10 {
		p.line(left, atY(v), right, atY(v), "#dddddd")
		p.text(left-4, atY(v)+3, "end", "#555555", "", milliseconds(v))
	}
	for _, m := range p.measurements {
		p.line(atX(float64(m.ports())), top, atX(float64(m.ports())), bottom, "#eeeeee")
		p.text(atX(float64(m.ports())), bottom+13, "middle", "#555555", "", m.Name)
	}
	for _, name := range drawing {
		var points []string
		var lastX, lastY, value float64
		for _, m := range p.measurements {
			if d, ok := m.of[name].p50(edit); ok {
				value = inMS(d)
				lastX, lastY = atX(float64(m.ports())), atY(value)
				points = append(points, fmt.Sprintf("%.1f,%.1f", lastX, lastY))
				fmt.Fprintf(&p.w, `<circle cx="%.1f" cy="%.1f" r="2.2" fill="%s"/>`+"\n", lastX, lastY, colours[name])
			}
		}
		if len(points) == 0 {
			continue
		}
		fmt.Fprintf(&p.w, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", strings.Join(points, " "), colours[name])
		if name != nameFloor { // which lies below
			p.text(lastX+5, lastY+3, "start", colours[name], "", fmt.Sprintf("%.3g", value))
		}
	}
}

func (p *plot) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(&p.w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

func (p *plot) text(x, y float64, anchor, colour, more, text string) {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	fmt.Fprintf(&p.w, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" %s>%s</text>`+"\n", x, y, anchor, colour, more, text)
}

// fraction is where v is between lo and hi, on a logarithmic scale.
func fraction(v, lo, hi float64) float64 {
	if hi <= lo {
		return 0.5
	}
	return math.Log(v/lo) / math.Log(hi/lo)
}

// decade is the power of ten at v, rounded by a function of math.
func decade(v float64, round func(float64) float64) float64 {
	return math.Pow(10, round(math.Log10(v)))
}

func inMS(d time.Duration) float64 { return d.Seconds() * 1000 }

func milliseconds(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%g s", v/1000)
	}
	return fmt.Sprintf("%g ms", v)
}
