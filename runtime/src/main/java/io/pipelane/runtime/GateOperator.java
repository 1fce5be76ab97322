package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The custom operator {@code ai.pipelane.Gate}: passes any number of tensors of any types through
 * unchanged, after telling the running thread's {@link GateListener} that its gate was reached.
 *
 * <p>Outputs are aliased to inputs, index by index, so nothing is copied; only where ONNX Runtime
 * gives an output memory of its own (a graph output) the bytes are copied.
 */
final class GateOperator {
  static final String DOMAIN = "ai.pipelane";
  static final String NAME = "Gate";
  static final String ATTRIBUTE = "gate";

  /*
   * Upcalls run on ONNX Runtime's behalf: an exception that left one would end the process, so each
   * catches everything and answers with a status.
   *
   * A kernel's handle is its gate's number, so kernels own nothing and there is nothing to destroy.
   *
   * The alias map belongs to the operator, not to a node, so it names MAXIMUM_TENSORS pairs; ONNX
   * Runtime ignores those beyond a node's own inputs.
   */
  private static final int STRUCT_VERSION = 22;
  private static final int SLOTS = 26;
  private static final int MAXIMUM_TENSORS = 4096;
  private static final int VARIADIC = 2;

  private static final ThreadLocal<@Nullable Crossing> CROSSING = new ThreadLocal<>();

  /** Where C functions write what a thread asks of its gate's tensors. */
  private static final ThreadLocal<MemorySegment> WORDS =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(JAVA_LONG, 4));

  private final OrtApi api;
  private final TensorMemory memory;
  private final MemorySegment providerName;
  private final MemorySegment struct;
  private final MemorySegment name;
  private final MemorySegment indices;
  private final AtomicLong unknownDimensions = new AtomicLong();

  /**
   * The operator for one provider.
   *
   * @param provider whose kernels its gates stand between
   * @param memory what tensors lie in
   */
  GateOperator(OrtApi api, ExecutionProvider provider, TensorMemory memory, Arena arena) {
    this.api = api;
    this.memory = memory;
    providerName =
        provider instanceof ExecutionProvider.Cpu
            ? MemorySegment.NULL
            : arena.allocateFrom(provider.name());
    name = arena.allocateFrom(NAME);
    indices = arena.allocate(JAVA_INT, MAXIMUM_TENSORS);
    for (int i = 0; i < MAXIMUM_TENSORS; i++) {
      indices.setAtIndex(JAVA_INT, i, i);
    }
    struct = structure(arena);
  }

  /** The address of the operator's {@code OrtCustomOp}. */
  long address() {
    return struct.address();
  }

  /**
   * Runs something on this thread, gates reporting to a listener. A {@link StatusException} of the
   * listener ends the run and is thrown as it is; of any other exception the message is kept.
   */
  static void listening(GateListener listener, Runnable run) {
    @Nullable Crossing before = CROSSING.get();
    Crossing crossing = new Crossing(listener);
    CROSSING.set(crossing);
    try {
      run.run();
    } catch (StatusException e) {
      throw crossing.refusal instanceof StatusException refusal ? refusal : e;
    } finally {
      CROSSING.set(before);
    }
  }

  /** The state that one thread needs while it runs: its listener, and what that threw. */
  private static final class Crossing {
    final GateListener listener;
    @Nullable Throwable refusal;

    Crossing(GateListener listener) {
      this.listener = listener;
    }

    void reached(int gate) {
      try {
        listener.reached(gate);
      } catch (Throwable e) {
        refusal = e;
        throw e;
      }
    }
  }

  private MemorySegment structure(Arena arena) {
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    MemorySegment one = Upcall.of(lookup, this, "one", arena, 1);
    MemorySegment anyType = Upcall.of(lookup, this, "zero", arena, 2);
    MemorySegment variadic = Upcall.of(lookup, this, "variadic", arena, 2);
    MemorySegment heterogeneous = Upcall.of(lookup, this, "heterogeneous", arena, 1);
    MemorySegment atLeastOne = Upcall.of(lookup, this, "atLeastOne", arena, 1);
    MemorySegment release = Upcall.of(lookup, this, "release", arena, 2);
    MemorySegment[] slots = new MemorySegment[SLOTS];
    slots[1] = MemorySegment.NULL; // CreateKernel, superseded by CreateKernelV2
    slots[2] = Upcall.of(lookup, this, "name", arena, 1);
    slots[3] = Upcall.of(lookup, this, "provider", arena, 1);
    slots[4] = anyType; // GetInputType
    slots[5] = one; // GetInputTypeCount
    slots[6] = anyType; // GetOutputType
    slots[7] = one; // GetOutputTypeCount
    slots[8] = MemorySegment.NULL; // KernelCompute, superseded by KernelComputeV2
    slots[9] = Upcall.of(lookup, this, "destroyKernel", arena, 1);
    slots[10] = variadic; // GetInputCharacteristic
    slots[11] = variadic; // GetOutputCharacteristic
    slots[12] = anyType; // GetInputMemoryType: 0 is the provider's own
    slots[13] = atLeastOne; // GetVariadicInputMinArity
    slots[14] = heterogeneous; // GetVariadicInputHomogeneity
    slots[15] = atLeastOne; // GetVariadicOutputMinArity
    slots[16] = heterogeneous; // GetVariadicOutputHomogeneity
    slots[17] = Upcall.of(lookup, this, "createKernel", arena, 4);
    slots[18] = Upcall.of(lookup, this, "compute", arena, 2);
    slots[19] = Upcall.of(lookup, this, "inferShapes", arena, 2);
    slots[20] = atLeastOne; // GetStartVersion
    slots[21] = Upcall.of(lookup, this, "endVersion", arena, 1);
    slots[22] = Upcall.of(lookup, this, "noPairs", arena, 2); // GetMayInplace
    slots[23] = release;
    slots[24] = Upcall.of(lookup, this, "aliases", arena, 2);
    slots[25] = release;
    MemorySegment result = arena.allocate(8L * SLOTS, 8);
    result.set(JAVA_INT, 0, STRUCT_VERSION);
    for (int slot = 1; slot < SLOTS; slot++) {
      result.setAtIndex(ADDRESS, slot, slots[slot]);
    }
    return result;
  }

  @SuppressWarnings("unused") // an upcall
  private long name(long operator) {
    return name.address();
  }

  @SuppressWarnings("unused") // an upcall
  private long provider(long operator) {
    return providerName.address();
  }

  @SuppressWarnings("unused") // an upcall
  private long one(long operator) {
    return 1;
  }

  @SuppressWarnings("unused") // an upcall
  private long atLeastOne(long operator) {
    return 1;
  }

  @SuppressWarnings("unused") // an upcall
  private long heterogeneous(long operator) {
    return 0;
  }

  @SuppressWarnings("unused") // an upcall
  private long zero(long operator, long index) {
    return 0;
  }

  @SuppressWarnings("unused") // an upcall
  private long variadic(long operator, long index) {
    return VARIADIC;
  }

  @SuppressWarnings("unused") // an upcall
  private long endVersion(long operator) {
    return Integer.MAX_VALUE;
  }

  @SuppressWarnings("unused") // an upcall
  private long noPairs(long inputs, long outputs) {
    return 0;
  }

  @SuppressWarnings("unused") // an upcall
  private long aliases(long inputs, long outputs) {
    MemorySegment.ofAddress(inputs).reinterpret(8).set(JAVA_LONG, 0, indices.address());
    MemorySegment.ofAddress(outputs).reinterpret(8).set(JAVA_LONG, 0, indices.address());
    return MAXIMUM_TENSORS;
  }

  @SuppressWarnings("unused") // an upcall
  private long release(long inputs, long outputs) {
    return 0;
  }

  @SuppressWarnings("unused") // an upcall
  private long destroyKernel(long kernel) {
    return 0;
  }

  @SuppressWarnings("unused") // an upcall
  private long createKernel(long operator, long ortApi, long info, long kernel) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment gate = arena.allocate(JAVA_LONG);
      api.call(
          OrtApi.KERNEL_INFO_GET_ATTRIBUTE_INT64,
          info,
          arena.allocateFrom(ATTRIBUTE).address(),
          gate.address());
      MemorySegment.ofAddress(kernel).reinterpret(8).set(JAVA_LONG, 0, gate.get(JAVA_LONG, 0));
      return 0;
    } catch (Throwable e) {
      return api.failure("gate: " + e);
    }
  }

  @SuppressWarnings("unused") // an upcall
  private long compute(long gate, long context) {
    try {
      @Nullable Crossing crossing = CROSSING.get();
      if (crossing != null) {
        crossing.reached(Math.toIntExact(gate));
      }
      passThrough(context, WORDS.get());
      return 0;
    } catch (Throwable e) {
      return api.failure(
          "gate " + gate + ": " + (e instanceof StatusException ? e.getMessage() : e));
    }
  }

  private void passThrough(long context, MemorySegment words) {
    long out = words.address();
    api.call(OrtApi.KERNEL_CONTEXT_GET_INPUT_COUNT, context, out);
    long count = words.get(JAVA_LONG, 0);
    for (long i = 0; i < count; i++) {
      api.call(OrtApi.KERNEL_CONTEXT_GET_INPUT, context, i, out);
      long input = words.get(JAVA_LONG, 0);
      api.call(
          OrtApi.GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE, input, out, out + 8, out + 16);
      int type = words.get(JAVA_INT, 0);
      long dimensions = words.get(JAVA_LONG, 8);
      long rank = words.get(JAVA_LONG, 16);
      api.call(
          OrtApi.KERNEL_CONTEXT_GET_OUTPUT,
          context,
          i,
          rank == 0 ? out : dimensions,
          rank,
          out + 24);
      long output = words.get(JAVA_LONG, 24);
      copyUnlessAliased(input, output, type, words);
    }
  }

  private void copyUnlessAliased(long input, long output, int type, MemorySegment words) {
    long out = words.address();
    if (type == TensorType.BYTES.onnx()) {
      throw new IllegalArgumentException("strings cannot pass a gate");
    }
    api.call(OrtApi.GET_TENSOR_MUTABLE_DATA, input, out);
    long from = words.get(JAVA_LONG, 0);
    api.call(OrtApi.GET_TENSOR_MUTABLE_DATA, output, out);
    long to = words.get(JAVA_LONG, 0);
    if (from != to) {
      api.call(OrtApi.GET_TENSOR_SIZE_IN_BYTES, input, out);
      long bytes = words.get(JAVA_LONG, 0);
      if (bytes > 0) {
        memory.copy(from, to, bytes);
      }
    }
  }

  /**
   * Gives each output its input's type and shape; unknown dimensions get names of their own. A
   * value of unknown rank looks like a scalar here: both are left to the type that the graph
   * declares for the gate's output.
   */
  @SuppressWarnings("unused") // an upcall
  private long inferShapes(long operator, long context) {
    try (Arena arena = Arena.ofConfined()) {
      long count = api.get(OrtApi.SHAPE_INFER_CONTEXT_GET_INPUT_COUNT, context);
      for (long i = 0; i < count; i++) {
        long in = api.get(OrtApi.SHAPE_INFER_CONTEXT_GET_INPUT_TYPE_SHAPE, context, i);
        long type = api.get(OrtApi.GET_TENSOR_ELEMENT_TYPE, in) & 0xffffffffL;
        long rank = api.get(OrtApi.GET_DIMENSIONS_COUNT, in);
        if (rank == 0) {
          continue;
        }
        MemorySegment dimensions = arena.allocate(JAVA_LONG, Math.max(1, rank));
        MemorySegment symbols = arena.allocate(ADDRESS, Math.max(1, rank));
        api.call(OrtApi.GET_DIMENSIONS, in, dimensions.address(), rank);
        api.call(OrtApi.GET_SYMBOLIC_DIMENSIONS, in, symbols.address(), rank);
        for (long d = 0; d < rank; d++) {
          nameIfUnknown(dimensions, symbols, d, arena);
        }
        long result = api.create(OrtApi.CREATE_TENSOR_TYPE_AND_SHAPE_INFO);
        try {
          api.call(OrtApi.SET_TENSOR_ELEMENT_TYPE, result, type);
          api.call(OrtApi.SET_DIMENSIONS, result, dimensions.address(), rank);
          api.call(OrtApi.SET_SYMBOLIC_DIMENSIONS, result, symbols.address(), rank);
          api.call(OrtApi.SHAPE_INFER_CONTEXT_SET_OUTPUT_TYPE_SHAPE, context, i, result); // Copies.
        } finally {
          api.invoke(OrtApi.RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, result);
        }
      }
      return 0;
    } catch (Throwable e) {
      return api.failure("gate: " + e);
    }
  }

  /**
   * Unnamed, an unknown dimension would turn into 0 and the graph would no longer load. Each gets a
   * name of its own: ONNX Runtime takes dimensions of one name for equal when it reuses memory.
   */
  private void nameIfUnknown(MemorySegment dimensions, MemorySegment symbols, long d, Arena arena) {
    String symbol = OrtApi.string(symbols.getAtIndex(JAVA_LONG, d));
    if (dimensions.getAtIndex(JAVA_LONG, d) > 0 && symbol.isEmpty()) {
      return;
    }
    dimensions.setAtIndex(JAVA_LONG, d, -1);
    String name = symbol.isEmpty() ? "gate_" + unknownDimensions.getAndIncrement() : symbol;
    symbols.setAtIndex(ADDRESS, d, arena.allocateFrom(name));
  }
}
