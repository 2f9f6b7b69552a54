//! Floats have one NaN, and the engine sees to it after every operation but one: multiplying and adding at once (`relaxed_madd` and its
//! three like) is a function of its own where the baseline has no instruction for it, and what that makes of NaNs is the processor's way. So
//! each is followed by a multiplication by one, which changes no number and makes one NaN of all. It is the same on every backend,
//! fuel included, and components without such operations are compiled as they are.

use std::borrow::Cow;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent};
use wasm_encoder::{CodeSection, Component, Instruction, Module};
use wasmparser::{CustomSectionReader, FunctionBody, Operator, Parser, Payload};

/// What is compiled in the place of a component or module.
///
/// # Errors
/// It has such operations, and can't be written anew: compiled as it is, it would not be the same everywhere.
pub(crate) fn compiled(bytes: &[u8], is_component: bool) -> Result<Cow<'_, [u8]>, String> {
    if !has_any(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let parser = Parser::new(0);
    let (mut module, mut component) = (Module::new(), Component::new());
    let made = match is_component {
        true => OneNan.parse_component(&mut component, parser, bytes).map(|()| component.finish()),
        false => OneNan.parse_core_module(&mut module, parser, bytes).map(|()| module.finish()),
    };
    made.map(Cow::Owned).map_err(|error| error.to_string())
}

/// Whether any of its functions has such an operation.
fn has_any(bytes: &[u8]) -> bool {
    Parser::new(0).parse_all(bytes).map_while(Result::ok).any(|payload| match payload {
        Payload::CodeSectionEntry(body) => may_have(body.as_bytes()) && has(&body),
        _ => false,
    })
}

/// Whether the bytes hold the beginning of one: the prefix of vectors, and a number's first byte that says that there is more of it.
fn may_have(body: &[u8]) -> bool {
    body.windows(2).any(|pair| matches!(pair, [0xfd, 0x85..=0x88]))
}

fn has(body: &FunctionBody<'_>) -> bool {
    let Ok(operators) = body.get_operators_reader() else { return false };
    operators.into_iter().map_while(Result::ok).any(|operator| by_one(&operator).is_some())
}

/// For such an operation, what multiplies its result by one.
fn by_one(operator: &Operator<'_>) -> Option<[Instruction<'static>; 2]> {
    let (ones, product) = match operator {
        Operator::F32x4RelaxedMadd | Operator::F32x4RelaxedNmadd => {
            let one = u128::from(1_f32.to_bits());
            (one | one << 32 | one << 64 | one << 96, Instruction::F32x4Mul)
        }
        Operator::F64x2RelaxedMadd | Operator::F64x2RelaxedNmadd => {
            let one = u128::from(1_f64.to_bits());
            (one | one << 64, Instruction::F64x2Mul)
        }
        _ => return None,
    };
    Some([Instruction::V128Const(ones.cast_signed()), product])
}

struct OneNan;

impl Reencode for OneNan {
    type Error = Infallible;

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Result<(), Error<Infallible>> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            let after = by_one(&operator);
            function.instruction(&self.instruction(operator)?);
            for instruction in after.iter().flatten() {
                function.instruction(instruction);
            }
        }
        code.function(&function);
        Ok(())
    }

    /// As it is: the validator does not judge what stands in one, so it need not be readable.
    fn parse_custom_section(
        &mut self,
        module: &mut Module,
        section: CustomSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        module.section(&self.custom_section(section)?);
        Ok(())
    }
}

impl ReencodeComponent for OneNan {
    fn parse_component_custom_section(
        &mut self,
        component: &mut Component,
        section: CustomSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        component.section(&self.custom_section(section)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUSED: [&str; 4] = ["f32x4.relaxed_madd", "f32x4.relaxed_nmadd", "f64x2.relaxed_madd", "f64x2.relaxed_nmadd"];

    /// Operators of all functions, by name.
    fn operators(bytes: &[u8]) -> Vec<String> {
        let payloads = Parser::new(0).parse_all(bytes).map(Result::unwrap);
        let bodies = payloads.filter_map(|payload| match payload {
            Payload::CodeSectionEntry(body) => Some(body),
            _ => None,
        });
        let operators = bodies.flat_map(|body| body.get_operators_reader().unwrap().into_iter().map(Result::unwrap));
        operators.map(|operator| format!("{operator:?}").split([' ', '{']).next().unwrap().to_owned()).collect()
    }

    fn function(operator: &str) -> String {
        format!("(func (param v128 v128 v128) (result v128) local.get 0 local.get 1 local.get 2 {operator})")
    }

    #[test]
    fn each_is_followed_by_a_multiplication_wherever_it_stands() {
        for operator in FUSED {
            let module = format!("(module (memory 1) (data (i32.const 0) \"x\") {})", function(operator));
            let component = format!("(component (component (core {}))", &module[1..]);
            for (text, is_component) in [(&module, false), (&component, true)] {
                let bytes = wat::parse_str(text).unwrap();
                let made = compiled(&bytes, is_component).unwrap();
                let product = if operator.starts_with("f32") { "F32x4Mul" } else { "F64x2Mul" };
                let names = operators(&made);
                assert_eq!(names[4..], ["V128Const", product, "End"], "{operator}: {names:?}");
                assert_eq!((names.len(), operators(&bytes).len()), (7, 5));
                wasmparser::validate(&made).unwrap();
            }
        }
    }

    /// Nothing is written anew that needs not be, whatever its bytes look like.
    #[test]
    fn what_has_none_is_compiled_as_it_is() {
        let others = [
            function("v128.bitselect"),
            function("drop f32x4.add"),
            "(func (result i32) (i32.const 0x10bfd) (drop (v128.const i32x4 0x85fd85fd 0x86fd 0x87fd 0x88fd)))"
                .to_owned(),
        ];
        for text in others {
            let bytes =
                wat::parse_str(format!("(module (memory 1) (data (i32.const 0) \"\\fd\\85\\02\") {text})")).unwrap();
            assert!(matches!(compiled(&bytes, false), Ok(Cow::Borrowed(same)) if same == bytes));
        }
        assert!(may_have(b"\xfd\x85\x02") && may_have(b"\0\xfd\x88\x82\0") && !may_have(b"\xfd\x0c\x85"));
        for bad in [&b""[..], b"\0asm", b"\0asm\x01\0\0\0\x0a\x05\x01\x03\0\xfd\x85"] {
            assert!(matches!(compiled(bad, false), Ok(Cow::Borrowed(_))));
        }
    }

    /// What the validator does not look at can't have it compiled as it is, and stays.
    #[test]
    fn names_that_nobody_can_read_are_kept_and_hinder_nothing() {
        for operator in FUSED {
            let module = format!("(module {} (@custom \"name\" \"\\ff\"))", function(operator));
            let component = format!("(component (core {} (@custom \"component-name\" \"\\ff\"))", &module[1..]);
            for (text, is_component) in [(&module, false), (&component, true)] {
                let bytes = wat::parse_str(text).unwrap();
                wasmparser::validate(&bytes).unwrap();
                let made = compiled(&bytes, is_component).unwrap();
                assert_eq!(operators(&made).len(), 7, "{operator}");
                assert!(made.windows(6).any(|part| part == b"\x04name\xff"));
            }
        }
    }
}
