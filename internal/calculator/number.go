package calculator

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// plain is a decimal number as people and programs write it; strconv alone would
// also take "Infinity", "0x1p-2" and "1_000".
var plain = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// grouped is a number with commas where Japanese and English put them. A comma
// anywhere else may be meant as a decimal one, so that is no number here.
var grouped = regexp.MustCompile(`^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?$`)

// readTyped reads what a person has typed for f.
func (f field) readTyped(text string) (float64, reason) {
	text = strings.TrimSpace(ascii(text))
	if text == "" {
		return 0, missing
	}
	if grouped.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	}
	if !plain.MatchString(text) {
		return 0, notANumber
	}
	return f.read(text)
}

// ascii reads what a Japanese keyboard writes for digits and signs. (Unicode's
// own folding leaves ー, which stands where the minus is on such a keyboard.)
func ascii(s string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case 'ー', 'ｰ', '−', '‐', '–', '—', '―':
			return '-'
		case '。', '｡':
			return '.'
		case '、', '､':
			return ','
		case '\u3000', '\u00a0':
			return ' '
		}
		if c >= '！' && c <= '～' { // the full-width forms stand in ASCII's order
			return c - '！' + '!'
		}
		return c
	}, s)
}

// number writes a finite x so that it reads as the same double: whole and without
// an exponent as long as that is short.
func number(x float64) string {
	if x != 0 && (x >= 1e21 || x < 1e-6) {
		return shortExponent(strconv.FormatFloat(x, 'e', -1, 64))
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// shortExponent turns 1e+300 into 1e300 and 1e-07 into 1e-7.
func shortExponent(s string) string {
	digits, exponent, _ := strings.Cut(s, "e")
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return digits + "e" + sign + strings.TrimLeft(exponent[1:], "0")
}

// up writes x, 0 or more, for reading: with at most three decimals, or three
// digits if it is small. It never writes less than x, so a wait that is read
// here and kept suffices.
func up(x float64) string {
	const decimals = 3
	digits, exponent := decimal(x)
	keep := max(decimals, 2-(exponent+len(digits)-1))
	if -exponent <= keep {
		return number(x)
	}
	n := new(big.Rat).SetFloat64(x)
	n.Mul(n, new(big.Rat).SetInt(power(keep)))
	ceil, rest := new(big.Int).QuoRem(n.Num(), n.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		ceil.Add(ceil, big.NewInt(1))
	}
	shown, _ := new(big.Rat).SetFrac(ceil, power(keep)).Float64()
	return number(shown)
}

// short writes x for an axis, in few characters.
func short(x float64) string {
	s := strconv.FormatFloat(x, 'g', 3, 64)
	if strings.Contains(s, "e") {
		if plain := strconv.FormatFloat(x, 'f', -1, 64); len(plain) <= 6 {
			return plain
		}
		return shortExponent(s)
	}
	return s
}

// decimal returns x, 0 or more, as the shortest decimal that reads as it: digits
// without zeros at the end, times ten to exponent.
func decimal(x float64) (digits string, exponent int) {
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	digits = strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0")
	if digits == "" {
		return "0", 0
	}
	exponent, err := strconv.Atoi(exp)
	if err != nil {
		panic(err) // strconv wrote it
	}
	return digits, exponent - len(digits) + 1
}

func power(ten int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(ten)), nil)
}
