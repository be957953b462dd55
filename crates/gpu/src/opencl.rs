//! Cards by OpenCL.

use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU, Device as ClDevice, get_all_devices};
use opencl3::error_codes::ClError;
use opencl3::event::{CL_COMPLETE, Event};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_device_id};

use crate::card_id::{CardId, CardInfo};
use crate::device::{CardError, Device, JOIN, PATIENCE, Stage, add_seconds, stages_of, wait_for_end};
use crate::shape::Shape;

/// The kernels, in the language that CUDA C and OpenCL C share.
const SOURCE: &str = concat!(
    include_str!("../kernels/language.cl"),
    include_str!("../kernels/half_boards.cl"),
    include_str!("../kernels/words.cl"),
    include_str!("../kernels/filters.cl"),
    include_str!("../kernels/join.cl"),
);

/// A device, its queue and the kernels.
pub(crate) struct OpenCl {
    queue: CommandQueue,
    kernels: Vec<(Stage, Kernel)>,
    arena: Buffer<u8>,
    bytes: u64,
    n_groups: u32,
    /// Kernels whose time is not known yet.
    started: Vec<(Stage, Event)>,
    times: Vec<(Stage, f64)>,
}

fn failed(action: &str) -> impl Fn(ClError) -> CardError {
    let action = action.to_owned();
    move |error| CardError::Driver(format!("{action}: {error}"))
}

/// Returns the numbers of all devices. PoCL crashes if several threads look for them at once the first time.
fn devices() -> Result<Vec<cl_device_id>, ClError> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    get_all_devices(CL_DEVICE_TYPE_ALL)
}

/// Returns all devices; none if there is no OpenCL here.
pub(crate) fn cards() -> Vec<CardInfo> {
    let ids = devices().unwrap_or_default();
    let info = |(number, id)| {
        let device = ClDevice::new(id);
        let name = device.name().unwrap_or_else(|_| "unnamed".to_owned());
        let driver = device.version().unwrap_or_else(|_| "OpenCL".to_owned());
        let is_nvidia = device.vendor().is_ok_and(|vendor| vendor.contains("NVIDIA"));
        let is_gpu = device.dev_type().is_ok_and(|kind| kind & CL_DEVICE_TYPE_GPU != 0);
        let memory = device.global_mem_size().unwrap_or(0);
        let not_in_all = match (is_gpu, is_nvidia) {
            (false, _) => Some("not a graphics card"),
            (true, true) => Some("counts by CUDA"),
            (true, false) => None,
        };
        CardInfo { id: CardId::OpenCl(number), name, memory, driver, not_in_all }
    };
    (0..).zip(ids).map(info).collect()
}

impl OpenCl {
    /// Opens a device by its number, for half boards of this shape, with one `share`th of its memory.
    pub(crate) fn open(number: u8, shape: Shape, share: u64) -> Result<Self, CardError> {
        let ids = devices().map_err(failed("looking for devices"))?;
        let id = *ids
            .get(usize::from(number))
            .ok_or_else(|| CardError::Driver(format!("there is no OpenCL device {number}")))?;
        let device = ClDevice::new(id);
        // A driver bounds one allocation.
        let memory = device.global_mem_size().map_err(failed("asking for the memory"))? / share.max(1);
        let bytes = memory.min(device.max_mem_alloc_size().map_err(failed("asking for the memory"))?) / 8 * 7;
        let context = Context::from_device(&device).map_err(failed("opening the device"))?;
        let options = format!("-DWARPS=1 -DM={} -DHEAD={} -DLEAF={}", shape.m, shape.head, shape.leaf);
        let program = Program::create_and_build_from_source(&context, SOURCE, &options)
            .map_err(|log| CardError::Driver(format!("compiling the kernels: {log}")))?;
        let mut kernels = Vec::new();
        for stage in stages_of(shape) {
            kernels.push((stage, Kernel::create(&program, stage).map_err(failed(stage))?));
        }
        // SAFETY: no command is enqueued that outlives the queue.
        let queue = unsafe {
            CommandQueue::create(&context, id, CL_QUEUE_PROFILING_ENABLE)
                .or_else(|_| CommandQueue::create(&context, id, 0))
        };
        let queue = queue.map_err(failed("making a queue"))?;
        let len = usize::try_from(bytes).map_err(|_| CardError::TooLittleMemory(0))?;
        // SAFETY: no host memory is passed.
        let arena = unsafe { Buffer::create(&context, CL_MEM_READ_WRITE, len, ptr::null_mut()) };
        let arena = arena.map_err(failed("reserving memory"))?;
        let shared_bytes = shape.shared_bytes(1).into();
        let has = device.local_mem_size().map_err(failed("asking for the shared memory"))?;
        if has < shared_bytes {
            return Err(CardError::TooLittleSharedMemory { has, needs: shared_bytes });
        }
        for (stage, kernel) in &kernels {
            // SAFETY: the arguments are those of the kernels.
            let set = unsafe {
                kernel.set_arg(0, &arena.get()).and_then(|()| match *stage {
                    JOIN => kernel.set_arg_local_buffer(1, shape.shared_bytes(1) as usize),
                    _ => Ok(()),
                })
            };
            set.map_err(failed(stage))?;
        }
        let n_groups = 4 * device.max_compute_units().unwrap_or(1);
        let (started, times) = (Vec::new(), stages_of(shape).map(|stage| (stage, 0.0)).collect());
        Ok(Self { queue, kernels, arena, bytes, n_groups, started, times })
    }
}

impl Device for OpenCl {
    fn memory(&self) -> u64 {
        self.bytes
    }

    fn n_blocks(&self) -> u32 {
        self.n_groups
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), CardError> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        // SAFETY: the call blocks, so the bytes live long enough.
        let written =
            unsafe { self.queue.enqueue_write_buffer(&mut self.arena, CL_BLOCKING, at, bytes, &[]) };
        written.map(drop).map_err(failed("writing to the device"))
    }

    fn start(&mut self, stage: Stage) -> Result<(), CardError> {
        let Some((_, kernel)) = self.kernels.iter().find(|(of, _)| *of == stage) else { return Ok(()) };
        let (global, local) = ([32 * self.n_groups as usize], [32]);
        // SAFETY: the sizes have one dimension; the arguments are those of the kernels, which stay within the arena's
        // arrays.
        let started = unsafe {
            self.queue.enqueue_nd_range_kernel(
                kernel.get(),
                1,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                &[],
            )
        };
        self.started.push((stage, started.map_err(failed(stage))?));
        Ok(())
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), CardError> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        // SAFETY: the list of events is empty, so it holds no invalid one.
        let all_started = unsafe { self.queue.enqueue_marker_with_wait_list(&[]) };
        let all_started = all_started.map_err(failed("waiting for the device"))?;
        self.queue.flush().map_err(failed("waiting for the device"))?;
        let has_ended = || {
            let status = all_started.command_execution_status().map_err(failed("waiting for the device"))?;
            match status.0 {
                CL_COMPLETE => Ok(true),
                failed if failed < 0 => Err(CardError::Driver(format!("a kernel: {}", ClError(failed)))),
                _ => Ok(false),
            }
        };
        wait_for_end(has_ended, PATIENCE)?;
        // SAFETY: the call blocks, so the bytes live long enough.
        let read = unsafe { self.queue.enqueue_read_buffer(&self.arena, CL_BLOCKING, at, bytes, &[]) };
        read.map(drop).map_err(failed("reading from the device"))?;
        for (stage, kernel) in self.started.drain(..) {
            // A driver may know no times.
            if let (Ok(start), Ok(end)) = (kernel.profiling_command_start(), kernel.profiling_command_end()) {
                let taken = Duration::from_nanos(end.saturating_sub(start));
                add_seconds(&mut self.times, stage, taken.as_secs_f64());
            }
        }
        Ok(())
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        self.times.clone()
    }
}
