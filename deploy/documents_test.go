package deploy_test

import (
	"os"
	"regexp"
	"testing"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings returns a document's, without their hashes.
func headings(t *testing.T, document string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readFile(t, document), -1) {
		all = append(all, m[1])
	}
	return all
}

// codeBlocks returns those of a document that are in a language.
func codeBlocks(t *testing.T, document, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readFile(t, document), -1) {
		all = append(all, m[1])
	}
	return all
}
