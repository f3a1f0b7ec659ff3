// The grammar of statements. The service reads a statement as one expression of PartiQL, in which
// SELECT, UPDATE and the others are terms; its error messages come from that, so this parser is the
// same. A Pratt parser: operators by precedence, one function for each other production.
//
//   statement  = expression [ ";" ]
//   expression = unary { infix expression }        lowest first: UNION EXCEPT INTERSECT | OR | AND
//   | = <> IS IN |
//                                                  < <= > >= BETWEEN LIKE | + - || | * / %
//              | expression ( BETWEEN | NOT BETWEEN ) expression AND expression
//              | expression ( IS | IS NOT ) type
//              | expression ( IN | NOT IN ) ( "(" arguments ")" | expression )
//   unary      = ( "+" | "-" ) unary | NOT expression | path
//   path       = term { "." name | "." "*" | "[" expression "]" | "[" "*" "]" }
//   term       = name | call | literal | "?" | list | bag | struct | "(" arguments ")" | select |
//   insert | update
//              | from_first | delete
//   call       = name "(" [ arguments ] ")"
//   list       = "[" [ arguments ] "]"             bag = "<<" [ arguments ] ">>"
//   struct     = "{" [ expression ":" expression { "," expression ":" expression } ] "}"
//   arguments  = expression { "," expression }
//   select     = SELECT ( "*" | column { "," column } ) FROM sources [ WHERE expression ] [ GROUP
//   BY arguments ]
//                [ HAVING expression ] [ ORDER BY order { "," order } ] [ LIMIT expression ] [
//                OFFSET expression ]
//   column     = expression [ [ AS ] name ]
//   sources    = source { ( "," | JOIN ) source [ ON expression ] }
//   source     = expression [ [ AS ] name ] [ AT name ] [ BY name ]
//   order      = expression [ ASC | DESC ]
//   insert     = INSERT INTO simple_path ( VALUE expression [ AT expression ] | expression ) [
//   returning ] update     = UPDATE simple_path [ alias ] changes [ WHERE expression ] [ returning
//   ] from_first = FROM sources [ WHERE expression ] changes [ returning ] delete     = DELETE FROM
//   simple_path [ alias ] [ WHERE expression ] [ returning ] changes    = change { change } change
//   = SET simple_path "=" expression { "," simple_path "=" expression } | REMOVE simple_path
//   returning  = RETURNING element { "," element }
//   element    = ( ALL | MODIFIED ) ( OLD | NEW ) ( "*" | expression )
#pragma once

#include <cstddef>
#include <string_view>

#include "partiql/ast.h"

namespace stator::partiql {

// How deep expressions may be nested by brackets, NOT and signs, and how high a tree of operators
// may grow. AND and OR do not nest among themselves. Guards the stack; far beyond what the service
// accepts.
inline constexpr size_t kMaxNesting = 400;
inline constexpr size_t kMaxTreeDepth = 1000;

// Throws ValidationException "Statement wasn't well formed, can't be processed: ...".
Statement parse(std::string_view statement);

}  // namespace stator::partiql
