//! Tries a card: gpu_try CARD SHARE (exact FROM TO|spans N COUNT|time N EVERY THREADS)
#![allow(missing_docs, clippy::all, clippy::print_stdout, clippy::unwrap_used)]
use queens_gpu::Card;
use queens_solver::*;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::*;
use std::time::Instant;
fn open(kind: &str, n: u8, share: f64) -> Card {
    kind.parse::<queens_gpu::CardId>().unwrap().open(BoardSize::new(n).unwrap(), share as u64).unwrap()
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let number = |i: usize| a[i].parse::<u64>().unwrap();
    let gib: f64 = a[2].parse().unwrap();
    println!("{:?}", queens_gpu::cards());
    let never = AtomicBool::new(false);
    match a[3].as_str() {
        "exact" => {
            for n in number(4) as u8..=number(5) as u8 {
                let size = BoardSize::new(n).unwrap();
                let mut card = open(&a[1], n, gib);
                let began = Instant::now();
                let parts = parts_in_counting_order(size, Method::Halves);
                let counts: Vec<Count> = parts
                    .iter()
                    .map(|part| {
                        let Part::Halves(h) = part else { panic!() };
                        card.count(h, 0..u64::MAX, &never).unwrap().unwrap()
                    })
                    .collect();
                let total: u128 = counts
                    .iter()
                    .zip(&parts)
                    .map(|(c, p)| u128::from(c.solutions) * u128::from(p.weight()))
                    .sum();
                let took = began.elapsed();
                let wrong = AtomicUsize::new(0);
                let next = AtomicUsize::new(0);
                let checked = AtomicUsize::new(0);
                std::thread::scope(|s| {
                    for _ in 0..std::thread::available_parallelism().unwrap().get() {
                        s.spawn(|| {
                            loop {
                                let i = next.fetch_add(1, Ordering::Relaxed);
                                if i >= parts.len() || (n > 17 && i % 16 != 0) && i < parts.len() {
                                    if i >= parts.len() {
                                        break;
                                    }
                                    continue;
                                }
                                let mut sub = parts[i].subproblems(Symmetry::IDENTITY);
                                let end = sub.n_subproblems();
                                let c = sub.count(0..end, Kernel::best(), &never).unwrap();
                                checked.fetch_add(1, Ordering::Relaxed);
                                if c != counts[i] {
                                    wrong.fetch_add(1, Ordering::Relaxed);
                                    println!("{:?}: {:?} for {c:?}", parts[i], counts[i]);
                                }
                            }
                        });
                    }
                });
                println!(
                    "exact n={n}: Q = {total} in {took:?} by {} parts, {} compared, {} wrong",
                    parts.len(),
                    checked.into_inner(),
                    wrong.into_inner()
                );
            }
        }
        "spans" => {
            let n = number(4) as u8;
            let size = BoardSize::new(n).unwrap();
            let parts = parts_in_counting_order(size, Method::Halves);
            let mut random = SplitMix::new(a.get(6).map_or(7, |s| s.parse().unwrap()));
            let cases: Vec<(Part, std::ops::Range<u64>)> = (0..number(5))
                .map(|i| {
                    let p = parts[random.below(parts.len())];
                    let all = p.subproblems(Symmetry::IDENTITY).n_subproblems();
                    let from = (random.next() >> 1) % all;
                    let len = [1, 7, 40][i as usize % 3];
                    (p, from..from + len)
                })
                .collect();
            let mut card = open(&a[1], n, gib);
            let began = Instant::now();
            let counts: Vec<Count> = cases
                .iter()
                .map(|(p, r)| {
                    let Part::Halves(h) = p else { panic!() };
                    card.count(h, r.clone(), &never).unwrap().unwrap()
                })
                .collect();
            let took = began.elapsed();
            let wrong = AtomicUsize::new(0);
            let next = AtomicUsize::new(0);
            let cpu = Mutex::new(0.0);
            std::thread::scope(|s| {
                for _ in 0..std::thread::available_parallelism().unwrap().get() {
                    s.spawn(|| {
                        loop {
                            let i = next.fetch_add(1, Ordering::Relaxed);
                            let Some((p, r)) = cases.get(i) else { break };
                            let began = Instant::now();
                            let c = p
                                .subproblems(Symmetry::IDENTITY)
                                .count(r.clone(), Kernel::best(), &never)
                                .unwrap();
                            *cpu.lock().unwrap() += began.elapsed().as_secs_f64();
                            if c != counts[i] {
                                wrong.fetch_add(1, Ordering::Relaxed);
                                println!("{p:?} {r:?}: {:?} for {c:?}", counts[i]);
                            }
                        }
                    });
                }
            });
            println!(
                "spans n={n}: {} spans, {} solutions, {} wrong; card {took:?}, cpu {:.2} core s",
                cases.len(),
                counts.iter().map(|c| c.solutions).sum::<u64>(),
                wrong.into_inner(),
                cpu.into_inner().unwrap()
            );
        }
        _ => {
            let n = number(4) as u8;
            let every = number(5) as usize;
            let threads = number(6) as usize;
            let size = BoardSize::new(n).unwrap();
            let plan = Plan::new(size, Method::Halves, NonZeroUsize::new(16).unwrap(), &never).unwrap();
            let first = a.get(7).map_or(0, |s| s.parse().unwrap());
            let of_set = |h: &HalvesPart| u64::from(n / 2).pow(h.n_digits().into());
            let parts: Vec<_> = plan.parts().iter().skip(first).step_by(every).collect();
            let share: u64 = a.get(8).map_or(1, |s| s.parse().unwrap());
            let planned: u128 = parts.iter().map(|p| p.choice().work).sum();
            let cards: Vec<Mutex<Card>> = (0..threads).map(|_| Mutex::new(open(&a[1], n, gib))).collect();
            let next = AtomicUsize::new(0);
            let sum = Mutex::new((0u128, 0u128));
            let parts_of = parts_in_counting_order(size, Method::Halves);
            let began = Instant::now();
            std::thread::scope(|s| {
                for card in &cards {
                    let (next, sum, parts, parts_of, never) = (&next, &sum, &parts, &parts_of, &never);
                    s.spawn(move || {
                        let mut card = card.lock().unwrap();
                        loop {
                            let i = next.fetch_add(1, Ordering::Relaxed);
                            if i >= parts.len() {
                                break;
                            }
                            let Part::Halves(h) = &parts_of[first + i * every] else { panic!() };
                            let all = parts[i].choice().n_subproblems;
                            let range = if share == 1 {
                                0..all
                            } else {
                                let sets = all / of_set(h);
                                let k = (sets / share).max(1);
                                let from = (sets - k) / 2;
                                from * of_set(h)..(from + k) * of_set(h)
                            };
                            let c = card.count(h, range, never).unwrap().unwrap();
                            let mut sum = sum.lock().unwrap();
                            sum.0 +=
                                u128::from(c.solutions) * u128::from(parts_of[first + i * every].weight());
                            sum.1 += u128::from(c.work);
                        }
                    });
                }
            });
            let took = began.elapsed().as_secs_f64();
            let (total, work) = *sum.lock().unwrap();
            println!(
                "time n={n} every {every} share {share} threads {threads}: {took:.3} s, sum {total}, {work} units of planned {planned} of {}: {:.4e} units/s; whole {:.1} s by units, {:.3} ps a solution",
                plan.work(),
                work as f64 / took,
                plan.work() as f64 * took / work as f64,
                took / total as f64 * 1e12
            );
            for card in &cards {
                let s = card.lock().unwrap().seconds();
                let all: f64 = s.iter().map(|x| x.1).sum();
                println!(
                    "  kernels {all:.3} s: {}",
                    s.iter().map(|(n, x)| format!("{n} {x:.3}")).collect::<Vec<_>>().join(", ")
                );
            }
        }
    }
}
