//! NVIDIA's cards, by CUDA's driver.

use std::io::Read;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
    sys,
};
use cudarc::nvrtc::Ptx;
use flate2::read::GzDecoder;

use crate::card_id::{CardId, CardInfo};
use crate::device::{CardError, Device, JOIN, PATIENCE, Stage, add_seconds, stages_of, wait_for_end};
use crate::shape::{Shape, WARPS};

/// Threads of a block, except of those that join.
const THREADS: u32 = 128;

/// Blocks of each multiprocessor, except of those that join.
const BLOCKS: u32 = 16;

/// The kernels as compressed PTX, for half boards of 6 rows and more.
const PTX: [&[u8]; 9] = [
    include_bytes!("../ptx/halves_06.ptx.gz"),
    include_bytes!("../ptx/halves_07.ptx.gz"),
    include_bytes!("../ptx/halves_08.ptx.gz"),
    include_bytes!("../ptx/halves_09.ptx.gz"),
    include_bytes!("../ptx/halves_10.ptx.gz"),
    include_bytes!("../ptx/halves_11.ptx.gz"),
    include_bytes!("../ptx/halves_12.ptx.gz"),
    include_bytes!("../ptx/halves_13.ptx.gz"),
    include_bytes!("../ptx/halves_14.ptx.gz"),
];

/// Returns the kernels for half boards of `m` rows.
fn unpacked(m: u32) -> Result<String, CardError> {
    let packed = PTX.get(m as usize - 6).ok_or(CardError::BoardSize)?;
    let mut ptx = String::new();
    let read = GzDecoder::new(*packed).read_to_string(&mut ptx);
    read.map_err(|error| CardError::Driver(format!("unpacking the kernels: {error}")))?;
    Ok(ptx)
}

/// A card with a stream of its own.
pub(crate) struct Cuda {
    stream: Arc<CudaStream>,
    kernels: Vec<(Stage, CudaFunction)>,
    arena: CudaSlice<u8>,
    shared_bytes: u32,
    n_processors: u32,
    /// Blocks that join, on each multiprocessor.
    n_joining: u32,
    /// Before and after each kernel whose time is not known yet.
    events: Vec<(Stage, CudaEvent, CudaEvent)>,
    times: Vec<(Stage, f64)>,
}

fn failed(action: &str) -> impl Fn(DriverError) -> CardError {
    let action = action.to_owned();
    move |error| CardError::Driver(format!("{action}: {error}"))
}

/// Returns whether CUDA's driver is installed here.
fn is_here() -> bool {
    // SAFETY: loading the driver's library runs its initialisation, which it is made for.
    unsafe { sys::is_culib_present() }
}

/// Returns the identifier of a card as NVIDIA's tools write it.
pub(crate) fn uuid(number: u8) -> Option<String> {
    if !is_here() {
        return None;
    }
    cudarc::driver::result::init().ok()?;
    let device = cudarc::driver::result::device::get(number.into()).ok()?;
    let bytes = cudarc::driver::result::device::get_uuid(device).ok()?.bytes;
    Some(uuid_text(bytes.map(|byte| byte.to_ne_bytes()[0])))
}

/// Writes an identifier: `GPU-` and groups of 8, 4, 4, 4 and 12 hexadecimal digits.
fn uuid_text(bytes: [u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| digits.get(group).unwrap_or_default());
    format!("GPU-{}", groups.join("-"))
}

/// Returns all cards; none without a driver.
pub(crate) fn cards() -> Vec<CardInfo> {
    if !is_here() {
        return Vec::new();
    }
    let n = CudaContext::device_count().ok().and_then(|n| u8::try_from(n).ok()).unwrap_or(0);
    let info = |number: u8| {
        let context = CudaContext::new(number.into()).ok();
        let name = context.as_ref().and_then(|context| context.name().ok());
        let memory = context.and_then(|context| context.total_mem().ok());
        CardInfo {
            id: CardId::Cuda(number),
            name: name.unwrap_or_else(|| "unnamed".to_owned()),
            memory: memory.unwrap_or(0) as u64,
            driver: "CUDA".to_owned(),
            not_in_all: None,
        }
    };
    (0..n).map(info).collect()
}

impl Cuda {
    /// Opens a card by its number, for half boards of this shape, with one `share`th of its memory.
    pub(crate) fn open(number: u8, shape: Shape, share: u64) -> Result<Self, CardError> {
        if !is_here() {
            return Err(CardError::Driver("CUDA's driver is not installed here".to_owned()));
        }
        let context = CudaContext::new(number.into()).map_err(failed("opening the card"))?;
        let ptx = Ptx::from_src(unpacked(shape.m)?);
        let module = context.load_module(ptx).map_err(failed("loading the kernels"))?;
        let mut kernels = Vec::new();
        for stage in stages_of(shape) {
            kernels.push((stage, module.load_function(stage).map_err(failed(stage))?));
        }
        let shared_bytes = shape.shared_bytes(WARPS);
        let shared = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let has = context.attribute(shared).map_err(failed("asking for the shared memory"))?;
        if has.unsigned_abs() < shared_bytes {
            return Err(CardError::TooLittleSharedMemory {
                has: has.unsigned_abs().into(),
                needs: shared_bytes.into(),
            });
        }
        let (_, join) = &kernels[kernels.len() - 1];
        let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        join.set_attribute(most, shared_bytes.cast_signed()).map_err(failed("reserving shared memory"))?;
        let carveout = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        join.set_attribute(carveout, 100).map_err(failed("reserving shared memory"))?;
        let n_joining = join
            .occupancy_max_active_blocks_per_multiprocessor(32 * WARPS, shared_bytes as usize, None)
            .map_err(failed("asking for the occupancy"))?
            .max(1);
        let processors = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let n_processors = context.attribute(processors).map_err(failed("asking for the card's size"))?;
        let stream = context.new_stream().map_err(failed("making a stream"))?;
        let (free, total) = context.mem_get_info().map_err(failed("asking for the memory"))?;
        let len = free.min(total / usize::try_from(share).unwrap_or(1).max(1)) / 8 * 7;
        // SAFETY: the kernels read an array only after they have written it.
        let arena = unsafe { stream.alloc(len) }.map_err(failed("reserving memory"))?;
        let n_processors = n_processors.unsigned_abs();
        Ok(Self {
            stream,
            kernels,
            arena,
            shared_bytes,
            n_processors,
            n_joining,
            events: Vec::new(),
            times: stages_of(shape).map(|stage| (stage, 0.0)).collect(),
        })
    }
}

impl Device for Cuda {
    fn memory(&self) -> u64 {
        self.arena.len() as u64
    }

    fn n_blocks(&self) -> u32 {
        self.n_processors * self.n_joining
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), CardError> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let to = self.arena.try_slice_mut(at..at.saturating_add(bytes.len()));
        let Some(mut to) = to else { return Err(CardError::Driver("a write outside the arena".to_owned())) };
        self.stream.memcpy_htod(bytes, &mut to).map_err(failed("writing to the card"))
    }

    fn start(&mut self, stage: Stage) -> Result<(), CardError> {
        let Some((_, kernel)) = self.kernels.iter().find(|(of, _)| *of == stage) else { return Ok(()) };
        let config = if stage == JOIN {
            LaunchConfig {
                grid_dim: (self.n_processors * self.n_joining, 1, 1),
                block_dim: (32 * WARPS, 1, 1),
                shared_mem_bytes: self.shared_bytes,
            }
        } else {
            LaunchConfig {
                grid_dim: (self.n_processors * BLOCKS, 1, 1),
                block_dim: (THREADS, 1, 1),
                shared_mem_bytes: 0,
            }
        };
        let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let before = self.stream.record_event(timed).map_err(failed("taking the time"))?;
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&mut self.arena);
        // SAFETY: the argument is that of the kernels, which stay within the arena's arrays.
        unsafe { launch.launch(config) }.map(drop).map_err(failed(stage))?;
        let after = self.stream.record_event(timed).map_err(failed("taking the time"))?;
        self.events.push((stage, before, after));
        Ok(())
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), CardError> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let from = self.arena.try_slice(at..at.saturating_add(bytes.len()));
        let Some(from) = from else { return Err(CardError::Driver("a read outside the arena".to_owned())) };
        let all_started = self.stream.record_event(None).map_err(failed("waiting for the card"))?;
        wait_for_end(|| all_started.try_is_complete().map_err(failed("waiting for the card")), PATIENCE)?;
        self.stream.memcpy_dtoh(&from, bytes).map_err(failed("reading from the card"))?;
        self.stream.synchronize().map_err(failed("waiting for the card"))?;
        for (stage, before, after) in self.events.drain(..) {
            if let Ok(taken) = before.elapsed_ms(&after) {
                add_seconds(&mut self.times, stage, f64::from(taken) / 1e3);
            }
        }
        Ok(())
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        self.times.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_identified_as_by_nvidias_tools() {
        let bytes = std::array::from_fn(|i| 0x11 * u8::try_from(i).unwrap_or(0));
        assert_eq!(uuid_text(bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn the_kernels_of_all_boards_are_there() {
        for m in (6..).take(PTX.len()) {
            let ptx = unpacked(m).expect("PTX");
            assert!(ptx.contains(".entry join("), "{m}");
        }
    }
}
