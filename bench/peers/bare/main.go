// Command bare is net/http and nothing else: it writes the same fixed answer to
// every request. What a server costs beyond it is the server's own.
//
//	bare ANSWER
//
// ANSWER is a file with the answer in JSON.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	var answer struct {
		Status int
		Header http.Header
		Body   []byte
	}
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		log.Fatal(err)
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf(`{"msg":"serving","addr":%q}`+"\n", public.Addr())
	log.Fatal(http.Serve(public, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, values := range answer.Header {
			h[name] = values
		}
		w.WriteHeader(answer.Status)
		w.Write(answer.Body)
	})))
}
