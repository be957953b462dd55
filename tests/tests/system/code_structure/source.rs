//! Parses a crate's files: its modules, the paths that they mention, and their public items.
//!
//! It reads files as tokens: this skips comments and strings, and includes the arguments of macros. It omits test-only
//! code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path of modules below the crate's root, or a path in the source.
pub(crate) type Names = Vec<String>;

/// A crate: the files of all modules below its root.
#[derive(Default)]
pub(crate) struct Crate {
    /// The file of each module.
    pub(crate) modules: BTreeMap<Names, PathBuf>,
    /// The paths that files mention, with their module.
    named: Vec<(Names, Names)>,
    /// The imports of each module: the local name, and the full path.
    imported: BTreeMap<(Names, String), Names>,
    /// Public items by file and name.
    pub(crate) public: BTreeSet<(PathBuf, String)>,
    /// The words in public signatures: types of arguments, of fields, of results.
    pub(crate) signatures: BTreeSet<String>,
}

/// Returns all tokens of a file.
pub(crate) fn tokens(file: &Path, text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Adds all words of these tokens.
pub(crate) fn words(tokens: impl IntoIterator<Item = TokenTree>, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => _ = words.insert(word.to_string()),
            TokenTree::Group(group) => self::words(group.stream(), words),
            _ => {}
        }
    }
}

impl Crate {
    /// Reads the crate that has this root.
    pub(crate) fn read(root: &Path) -> Self {
        let mut read = Self::default();
        let dir = root.parent().expect("a root lies in a directory");
        read.file(root, dir, vec![]);
        read
    }

    /// Reads a file. `below` is the directory of its modules.
    fn file(&mut self, file: &Path, below: &Path, module: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let all = without_tests(tokens(file, &text));
        self.modules.insert(module.clone(), file.to_owned());
        let mut declared = vec![];
        self.walk(file, &all, &module, None, &mut declared);
        for (child, path) in declared {
            if let Some(path) = path {
                let path = file.with_file_name(path);
                let dir = path.parent().expect("a file lies in a directory");
                self.file(&path, dir, child);
                continue;
            }
            let name = child.last().expect("a module has a name");
            // Modules inside a file have their own directory each.
            let dir = child[module.len()..child.len() - 1]
                .iter()
                .fold(below.to_owned(), |dir, name| dir.join(name));
            let flat = dir.join(format!("{name}.rs"));
            let path = if flat.exists() { flat } else { dir.join(name).join("mod.rs") };
            self.file(&path, &dir.join(name), child);
        }
    }

    /// Records the mentions in a module's tokens. `implementing` is the type of the current `impl`.
    fn walk(
        &mut self,
        file: &Path,
        tokens: &[TokenTree],
        module: &Names,
        implementing: Option<&str>,
        declared: &mut Vec<(Names, Option<String>)>,
    ) {
        let mut at = 0;
        while at < tokens.len() {
            match word(tokens, at).as_deref() {
                Some("mod") if word(tokens, at + 1).is_some() => {
                    let mut child = module.clone();
                    child.extend(word(tokens, at + 1));
                    match group(tokens, at + 2, Delimiter::Brace) {
                        Some(body) => {
                            self.modules.insert(child.clone(), file.to_owned());
                            self.walk(file, &list(body), &child, None, declared);
                        }
                        None => declared.push((child, path_attribute(&tokens[..at]))),
                    }
                    at += 3;
                }
                Some("use") => {
                    let end = end_of(tokens, at, &[';']);
                    self.import(module, vec![], &tokens[at + 1..end]);
                    at = end;
                }
                Some("pub") if group(tokens, at + 1, Delimiter::Parenthesis).is_some() => at += 2,
                Some("pub") => {
                    self.offer(file, &tokens[at + 1..], implementing);
                    at += 1;
                }
                Some("impl") if starts_item(tokens, at) => {
                    let end = tokens[at..].iter().position(is_body).map_or(tokens.len(), |body| at + body);
                    let header = &tokens[at + 1..end];
                    let of_trait = header.iter().position(|token| token.to_string() == "for");
                    let own = name_of_type(&header[of_trait.map_or(0, |at| at + 1)..]);
                    self.walk(file, header, module, None, declared);
                    if let Some(body) = group(tokens, end, Delimiter::Brace) {
                        let body = list(body);
                        if let Some(of_trait) = of_trait {
                            self.sign(&header[..of_trait], own.as_deref());
                            let outside: Vec<_> =
                                body.iter().filter(|token| !is_body(token)).cloned().collect();
                            self.sign(&outside, own.as_deref());
                        }
                        self.walk(file, &body, module, own.as_deref(), declared);
                    }
                    at = end + 1;
                }
                Some(_) => {
                    let path = path_at(tokens, at);
                    at += 3 * path.len() - 2;
                    if path.len() > 1 {
                        self.named.push((module.clone(), path));
                    }
                }
                None => {
                    if let TokenTree::Group(group) = &tokens[at] {
                        self.walk(file, &list(group), module, implementing, declared);
                    }
                    at += 1;
                }
            }
        }
    }

    /// Records the names that a `use` imports into a module.
    fn import(&mut self, module: &Names, mut path: Names, tree: &[TokenTree]) {
        let mut at = 0;
        while let Some(token) = tree.get(at) {
            match token {
                TokenTree::Ident(name) if name == "as" => {
                    let alias = word(tree, at + 1).unwrap_or_default();
                    return self.bring(module, alias, path);
                }
                TokenTree::Ident(name) if name == "self" && !path.is_empty() => {}
                TokenTree::Ident(name) => path.push(name.to_string()),
                TokenTree::Group(group) => {
                    for branch in list(group).split(|token| is_punct(token, ',')) {
                        if !branch.is_empty() {
                            self.import(module, path.clone(), branch);
                        }
                    }
                    return;
                }
                // A glob import, recorded as such.
                TokenTree::Punct(punct) if punct.as_char() == '*' => path.push("*".to_owned()),
                _ => {}
            }
            at += 1;
        }
        let name = path.last().cloned().unwrap_or_default();
        self.bring(module, name, path);
    }

    fn bring(&mut self, module: &Names, name: String, path: Names) {
        self.named.push((module.clone(), path.clone()));
        self.imported.insert((module.clone(), name), path);
    }

    /// Records the public item or field that begins here.
    fn offer(&mut self, file: &Path, tokens: &[TokenTree], implementing: Option<&str>) {
        let modifiers = ["unsafe", "async", "extern"];
        let mut at = 0;
        let kind = loop {
            match word(tokens, at).as_deref() {
                Some(word) if modifiers.contains(&word) => {}
                Some("const")
                    if word(tokens, at + 1).is_some_and(|next| next == "fn" || next == "unsafe") => {}
                // The name of a calling convention, after `extern`.
                None if matches!(tokens.get(at), Some(TokenTree::Literal(_))) => {}
                kind => break kind.unwrap_or_default().to_owned(),
            }
            at += 1;
        };
        let name = word(tokens, at + 1).unwrap_or_default();
        let own = implementing.unwrap_or(&name).to_owned();
        let body = tokens.iter().position(is_body).unwrap_or(tokens.len());
        match kind.as_str() {
            "use" => return,
            "enum" | "trait" => self.sign(&tokens[..tokens.len().min(body + 1)], Some(&own)),
            "fn" | "struct" | "union" | "type" | "const" | "static" | "mod" => {
                self.sign(&tokens[..end_of(tokens, 0, &[';', '=']).min(body)], Some(&own));
            }
            // A field: the next fields are private or start with `pub` themselves.
            _ => return self.sign(&tokens[..end_of(tokens, 0, &[','])], None),
        }
        self.public.insert((file.to_owned(), name));
    }

    fn sign(&mut self, tokens: &[TokenTree], own: Option<&str>) {
        let mut signature = BTreeSet::new();
        words(tokens.iter().cloned(), &mut signature);
        self.signatures.extend(signature.into_iter().filter(|word| Some(word.as_str()) != own));
    }

    /// Returns the dependencies between files, each with a path that causes it.
    pub(crate) fn edges(&self) -> BTreeMap<(&Path, &Path), String> {
        let mut edges = BTreeMap::new();
        for (module, path) in &self.named {
            let Some(target) = self.target(module, path, 0) else { continue };
            let (from, to) = (self.modules[module].as_path(), self.modules[&target].as_path());
            if from != to {
                edges.entry((from, to)).or_insert_with(|| path.join("::"));
            }
        }
        edges
    }

    /// Returns the module that contains a path's target; `None` if it is in another crate.
    fn target(&self, module: &Names, path: &[String], depth: u8) -> Option<Names> {
        let mut target = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                target.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while let Some(("super", below)) =
                    rest.split_first().map(|(first, below)| (first.as_str(), below))
                {
                    target.pop()?;
                    rest = below;
                }
            }
            first => {
                target.push(first.to_owned());
                if !self.modules.contains_key(&target) {
                    // An imported name, perhaps that of a module.
                    let imported = self.imported.get(&(module.clone(), first.to_owned()))?;
                    let is_circular = depth > 8 || imported.first().is_some_and(|start| start == first);
                    let whole: Names = imported.iter().chain(&path[1..]).cloned().collect();
                    return if is_circular { None } else { self.target(module, &whole, depth + 1) };
                }
                rest = &path[1..];
            }
        }
        for name in rest {
            target.push(name.clone());
            if !self.modules.contains_key(&target) {
                target.pop();
                break;
            }
        }
        Some(target)
    }
}

/// Omits items with `#[cfg(test)]`.
fn without_tests(tokens: impl IntoIterator<Item = TokenTree>) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = vec![];
    let mut at = 0;
    while at < tokens.len() {
        let attribute =
            |at| is_punct(tokens.get(at)?, '#').then(|| group(&tokens, at + 1, Delimiter::Bracket))?;
        let of_tests = |group: &Group| group.stream().to_string().replace(' ', "") == "cfg(test)";
        if attribute(at).is_some_and(of_tests) {
            while attribute(at).is_some() {
                at += 2;
            }
            let is_use = tokens[at..].iter().take(3).any(|token| token.to_string() == "use");
            let ends = |token: &TokenTree| is_punct(token, ';') || (is_body(token) && !is_use);
            at = tokens[at..].iter().position(ends).map_or(tokens.len(), |end| at + end + 1);
            continue;
        }
        kept.push(match &tokens[at] {
            TokenTree::Group(group) => {
                let inner = without_tests(group.stream()).into_iter().collect();
                TokenTree::Group(Group::new(group.delimiter(), inner))
            }
            token => token.clone(),
        });
        at += 1;
    }
    kept
}

/// Returns the value of `#[path = "..."]` among the last attributes of these tokens.
fn path_attribute(mut tokens: &[TokenTree]) -> Option<String> {
    loop {
        match tokens {
            [before @ .., hash, TokenTree::Group(attribute)] if is_punct(hash, '#') => {
                let attribute = list(attribute);
                if word(&attribute, 0).is_some_and(|word| word == "path") {
                    let text = attribute.last()?.to_string();
                    return Some(text.trim_matches('"').to_owned());
                }
                tokens = before;
            }
            [before @ .., TokenTree::Ident(visible)] if visible == "pub" => tokens = before,
            [before @ .., TokenTree::Ident(visible), TokenTree::Group(_)] if visible == "pub" => {
                tokens = before;
            }
            _ => return None,
        }
    }
}

fn list(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at)? {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

fn group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> Option<&Group> {
    match tokens.get(at)? {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, expected: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == expected)
}

fn is_body(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// Returns the position of the next of these characters, or the end.
fn end_of(tokens: &[TokenTree], at: usize, ends: &[char]) -> usize {
    let ends = |token: &TokenTree| ends.iter().any(|&end| is_punct(token, end));
    tokens[at..].iter().position(ends).map_or(tokens.len(), |end| at + end)
}

/// Returns the names that `::` joins from here on.
fn path_at(tokens: &[TokenTree], at: usize) -> Names {
    let mut path: Names = word(tokens, at).into_iter().collect();
    let mut next = at + 1;
    while let (Some(a), Some(b), Some(name)) =
        (tokens.get(next), tokens.get(next + 1), word(tokens, next + 2))
        && is_punct(a, ':')
        && is_punct(b, ':')
    {
        path.push(name);
        next += 3;
    }
    path
}

/// Whether `impl` starts an item rather than an argument type: the previous token ends an item or is an attribute.
fn starts_item(tokens: &[TokenTree], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else { return true };
    let ends = is_punct(before, ';') || is_body(before);
    let is_attribute = at >= 2 && is_punct(&tokens[at - 2], '#');
    ends || is_attribute || before.to_string() == "unsafe"
}

/// Returns the type of an `impl`: the last name of its path, before its arguments.
fn name_of_type(tokens: &[TokenTree]) -> Option<String> {
    let mut at = 0;
    // The parameters of the `impl` itself.
    if tokens.first().is_some_and(|token| is_punct(token, '<')) {
        let mut depth = 0;
        loop {
            depth += i32::from(is_punct(tokens.get(at)?, '<')) - i32::from(is_punct(tokens.get(at)?, '>'));
            at += 1;
            if depth == 0 {
                break;
            }
        }
    }
    let start = tokens[at..].iter().position(|token| matches!(token, TokenTree::Ident(_)))?;
    path_at(tokens, at + start).pop()
}
