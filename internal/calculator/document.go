package calculator

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/template/parse"
)

// A document is a template in the language of html/template, of which it knows what
// the page needs: fields, functions in fields, range, with, if, template and a few
// built-in functions.
//
// It is not run by html/template because that finds methods by their names. A program
// that does so once must keep every method of every type it contains, and of one of
// the server's libraries those are twice the rest of the server. A test holds the two
// against each other, byte by byte.
type document struct {
	trees map[string]*parse.Tree
}

// functions are the built-in ones, for the parser, which only looks whether they are there.
var functions = map[string]any{"and": true, "call": true, "gt": true, "le": true, "len": true, "not": true}

const mainTree = "document"

func parseDocument(source string) (*document, error) {
	trees, err := parse.Parse(mainTree, source, "", "", functions)
	if err != nil {
		return nil, err
	}
	return &document{trees}, nil
}

// A fault is something in a template that does not fit what it is to show.
type fault struct{ error }

func faulty(format string, args ...any) {
	panic(fault{fmt.Errorf("calculator: "+format, args...)})
}

// execute writes the document of data. All that is not the template's own is escaped
// for where it may stand: in a text or in a double-quoted attribute, and in the latter
// also as an address without a scheme. Only a place is trusted to be attributes.
func (d *document) execute(data any) (out []byte, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = r
		default:
			panic(r)
		}
	}()
	r := run{document: d}
	r.tree(mainTree, reflect.ValueOf(data))
	return r.out.Bytes(), nil
}

// A run is one execution.
type run struct {
	document *document
	out      bytes.Buffer
}

// A scope is what dot and $ are.
type scope struct{ dot, root reflect.Value }

func (r *run) tree(name string, data reflect.Value) {
	tree, ok := r.document.trees[name]
	if !ok {
		faulty("no template %q", name)
	}
	r.list(tree.Root, scope{data, data})
}

func (r *run) list(list *parse.ListNode, s scope) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			r.out.Write(n.Text)
		case *parse.ActionNode:
			r.show(s.pipe(n.Pipe))
		case *parse.IfNode:
			if truth(s.pipe(n.Pipe)) {
				r.list(n.List, s)
			} else {
				r.list(n.ElseList, s)
			}
		case *parse.WithNode:
			if v := s.pipe(n.Pipe); truth(v) {
				r.list(n.List, scope{v, s.root})
			} else {
				r.list(n.ElseList, s)
			}
		case *parse.RangeNode:
			v := s.pipe(n.Pipe)
			if v.Kind() != reflect.Slice || n.ElseList != nil {
				faulty("cannot range over %s", n.Pipe)
			}
			for i := range v.Len() {
				r.list(n.List, scope{v.Index(i), s.root})
			}
		case *parse.TemplateNode:
			r.tree(n.Name, s.pipe(n.Pipe))
		default:
			faulty("%s is not known", n)
		}
	}
}

// escaper writes what HTML could take for its own, and a plus, which old encodings do.
var escaper = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

func (r *run) show(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[place]():
		r.out.WriteString(v.String())
	case v.Kind() == reflect.String:
		escaper.WriteString(&r.out, v.String())
	case v.CanInt():
		r.out.WriteString(strconv.FormatInt(v.Int(), 10))
	default:
		faulty("cannot show a %s", v.Type())
	}
}

func (s scope) pipe(pipe *parse.PipeNode) reflect.Value {
	if len(pipe.Cmds) != 1 || len(pipe.Decl) > 0 {
		faulty("%s is more than one command", pipe)
	}
	command := pipe.Cmds[0]
	args := make([]reflect.Value, 0, 2)
	for _, arg := range command.Args[1:] {
		args = append(args, s.value(arg))
	}
	if function, ok := command.Args[0].(*parse.IdentifierNode); ok {
		return builtin(function.Ident, args)
	}
	v := s.value(command.Args[0])
	if len(args) > 0 {
		return builtin("call", append([]reflect.Value{v}, args...))
	}
	return v
}

func (s scope) value(node parse.Node) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return member(s.dot, n.Ident)
	case *parse.VariableNode: // there is only $
		return member(s.root, n.Ident[1:])
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	case *parse.PipeNode:
		return s.pipe(n)
	}
	faulty("%s is not known", node)
	return reflect.Value{}
}

func member(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || !v.FieldByName(name).IsValid() {
			faulty("no field %s", name)
		}
		v = v.FieldByName(name)
	}
	return v
}

func truth(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	return !v.IsZero()
}

func builtin(name string, args []reflect.Value) reflect.Value {
	ints := func() (a, b int64) {
		if len(args) != 2 || !args[0].CanInt() || !args[1].CanInt() {
			faulty("%s compares two whole numbers", name)
		}
		return args[0].Int(), args[1].Int()
	}
	switch {
	case name == "le":
		a, b := ints()
		return reflect.ValueOf(a <= b)
	case name == "gt":
		a, b := ints()
		return reflect.ValueOf(a > b)
	case name == "not" && len(args) == 1:
		return reflect.ValueOf(!truth(args[0]))
	case name == "and" && len(args) == 2:
		if truth(args[0]) {
			return args[1]
		}
		return args[0]
	case name == "len" && len(args) == 1 && args[0].Kind() == reflect.Slice:
		return reflect.ValueOf(args[0].Len())
	case name == "call" && len(args) == 2 && args[0].Kind() == reflect.Func && args[0].Type().NumIn() == 1 && args[1].Type().AssignableTo(args[0].Type().In(0)):
		return args[0].Call(args[1:])[0]
	}
	faulty("%s does not take that", name)
	return reflect.Value{}
}
