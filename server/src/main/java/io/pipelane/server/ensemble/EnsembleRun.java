package io.pipelane.server.ensemble;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.inference.TensorShapes;
import io.pipelane.server.statistics.BatchRows;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.PlacedOnce;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.kept.Keeper;
import io.pipelane.switcher.kept.KeptTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One request on its way through an ensemble. */
final class EnsembleRun implements InferenceService.Ticket {
  /*
   * Steps run one after another, so all fields but those of `cancel` belong to whoever runs the
   * current step: the submitter at first, then the lane's thread that ends a step and submits the
   * next.
   *
   * What a step makes for the caller is placed with the caller at once, where later steps read it,
   * too. What it makes for others alone lies on the device that runs it, or in a buffer, until the
   * last of them has run, or the request has ended. All is given back before the caller is told the
   * end.
   *
   * What is on a device is lost with it, and takes memory that a later step may need. Then the
   * chain is run once more from its inputs, which stay until the end, with nothing kept.
   */
  private final HeldSteps steps;
  private final SequenceKeepers keepers;
  private final List<Member> members;
  private final InferenceRequest request;
  private final ResultHandler handler;
  private final InferenceStatistics statistics;
  private final TransferBuffers transfers;
  private final StepTensors tensors;
  private InferenceTimings total = new InferenceTimings(0, 0, 0);
  private final List<InferenceTimings.Step> traced = new ArrayList<>(0);
  private int position;
  private int submissions;
  private boolean mayKeep;

  private boolean cancelled;
  private int submitted;
  private InferenceService.@Nullable Ticket ticket;

  /**
   * A run that has not begun.
   *
   * @param steps held until the handler is told the end
   * @param keepers of sequences that another version has than the steps name
   */
  EnsembleRun(
      HeldSteps steps,
      SequenceKeepers keepers,
      InferenceRequest request,
      ResultHandler handler,
      InferenceStatistics statistics,
      TransferBuffers transfers) {
    this.steps = steps;
    this.keepers = keepers;
    this.members = steps.members();
    this.request = request;
    this.handler = new PlacedOnce(handler);
    this.statistics = statistics;
    this.transfers = transfers;
    this.tensors = new StepTensors(members, request.inputs());
    // Offline work has another account of memory, and a step on a state cannot be made twice.
    this.mayKeep = request.priority() == Priority.ONLINE && request.sequence().isEmpty();
  }

  /**
   * Submits the first step.
   *
   * @throws StatusException when it is refused; the handler is then not called
   */
  void start() {
    submit();
  }

  /**
   * The same for a request that has waited.
   *
   * @param before what it has waited, to be counted in
   */
  void start(InferenceTimings before) {
    total = before;
    submit();
  }

  private void submit() {
    int number = ++submissions;
    InferenceService.Ticket next = submit(members.get(position), steps.holds().get(position));
    boolean withdraw;
    synchronized (this) {
      // A step may have ended, and the next be under way, before its submission returns.
      if (number > submitted) {
        submitted = number;
        ticket = next;
      }
      withdraw = cancelled;
    }
    if (withdraw) {
      next.cancel();
    }
  }

  /** Submits a step, of a sequence to the version that has it, which moves once at most. */
  private InferenceService.Ticket submit(Member member, InferenceService.Hold hold) {
    StepEnd end = new StepEnd(position, member);
    try {
      InferenceRequest step = stepRequest(member, end);
      end.account.decoded(
          OptionalLong.empty(), BatchRows.of(member.model().inputs(), step.inputs()));
      return hold.submit(step, end);
    } catch (StatusException e) {
      boolean mayMove = request.job().isEmpty() && member.equals(members.get(position));
      Optional<Member> keeper = mayMove ? keepers.of(member, e) : Optional.empty();
      if (keeper.isPresent()) {
        end.account.withdrawn();
        return submit(keeper.get(), keepers.models()::submit);
      }
      end.account.failed(e.status());
      throw steps.named(end.position, e);
    } catch (RuntimeException | Error e) {
      end.account.failed(Status.INTERNAL);
      throw e;
    }
  }

  private InferenceRequest stepRequest(Member member, Keeper keeper) {
    List<InputTensor> inputs = new ArrayList<>();
    for (TensorSpec spec : member.model().inputs()) {
      InputTensor tensor =
          tensors.get(Objects.requireNonNull(member.step().inputs().get(spec.name())));
      TensorShapes.check(member.model(), spec, tensor.type(), tensor.shape());
      inputs.add(
          new InputTensor(
              spec.name(), tensor.type(), tensor.shape(), tensor.data(), tensor.onDevice()));
    }
    List<String> outputs =
        member.model().outputs().stream()
            .map(TensorSpec::name)
            .filter(name -> isNeeded(member.step().outputs().get(name)))
            .toList();
    return new InferenceRequest(
        member.model().version(),
        inputs,
        outputs,
        request.deadline(),
        request.priority(),
        request.sequence().map(step -> partOf(step, member.model().version())),
        request.job(),
        RunPlace.ANY
            .on(tensors.deviceOf(member).or(request.place()::device))
            .numbering(request.place().stateNumber())
            .keeping(mayKeep ? Optional.of(keeper) : Optional.empty()));
  }

  private SequenceStep partOf(SequenceStep step, ModelVersion model) {
    return request.job().isPresent()
        ? ChainState.partOf(step, model)
        : ChainState.partOf(step, request.model().model(), model);
  }

  private boolean isNeeded(@Nullable String tensor) {
    return tensor != null
        && (request.outputs().contains(tensor)
            || members.stream().anyMatch(m -> m.step().inputs().containsValue(tensor)));
  }

  @Override
  public void cancel() {
    InferenceService.Ticket current;
    synchronized (this) {
      cancelled = true;
      current = ticket;
    }
    if (current != null) {
      current.cancel();
    }
  }

  @Override
  public void withdraw() {
    InferenceService.Ticket current;
    synchronized (this) {
      current = ticket;
    }
    if (current != null) {
      current.withdraw();
    }
  }

  private synchronized boolean isCancelled() {
    return cancelled;
  }

  private void stepEnded(InferenceTimings timings) {
    total =
        new InferenceTimings(
            total.queueNanos() + timings.queueNanos(),
            total.stallNanos() + timings.stallNanos(),
            total.executeNanos() + timings.executeNanos());
    tensors.stepEnded(position);
    position++;
    if (position == members.size()) {
      tensors.forget();
      handler.completed(traced.isEmpty() ? total : total.of(traced));
    } else {
      next();
    }
  }

  private void next() {
    try {
      if (isCancelled()) {
        throw new StatusException(Status.CANCELLED, "the caller has gone");
      }
      submit();
    } catch (StatusException e) {
      failed(e, false);
    } catch (RuntimeException | Error e) { // Held steps and buffers would stay lent.
      fail(new StatusException(Status.INTERNAL, "a fault of the server between steps", e));
    }
  }

  /**
   * What is kept may be the reason, or be lost: without it the chain may succeed, unless the host
   * lacks memory, of which it would take more.
   *
   * @param wasTaken whether the step failed behind the queue: one that is refused by a full queue
   *     would be so again
   */
  private void failed(StatusException error, boolean wasTaken) {
    boolean mayBeOfKeeping =
        switch (error.status()) {
          case DEVICE_FAILURE, INSUFFICIENT_MEMORY -> true;
          case UNAVAILABLE -> wasTaken;
          default -> false;
        };
    if (mayBeOfKeeping && !DirectMemory.isBehind(error) && tensors.device().isPresent()) {
      tensors.forget();
      mayKeep = false;
      position = 0;
      next();
    } else {
      fail(error);
    }
  }

  private void fail(StatusException error) {
    tensors.forget();
    handler.failed(error);
  }

  /** Host memory for what a step makes for another one. */
  private MemorySegment onHost(String tensor, TensorType type, Shape shape, long byteSize) {
    if (byteSize > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.TOO_LARGE,
          "tensor \"%s\" has %d bytes, the limit is %d"
              .formatted(tensor, byteSize, Integer.MAX_VALUE));
    }
    int size = (int) byteSize;
    ByteBuf buffer = transfers.take(Math.max(1, size), PooledByteBufAllocator.DEFAULT);
    buffer.writerIndex(size);
    return tensors.put(tensor, type, shape, buffer);
  }

  /** The receiver of what a step makes. */
  private final class StepEnd implements ResultHandler, Keeper {
    private final int position;
    private final Member member;
    private final RequestAccount account;
    private final long beganNanos = System.nanoTime();

    StepEnd(int position, Member member) {
      this.position = position;
      this.member = member;
      this.account = statistics.begin(member.model().version());
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      String tensor = member.step().outputs().getOrDefault(name, name);
      if (!request.outputs().contains(tensor)) {
        return onHost(tensor, type, shape, byteSize);
      }
      MemorySegment place = handler.place(tensor, type, shape, byteSize);
      tensors.put(tensor, type, shape, place);
      return place;
    }

    /** All that is kept at a time lies on one device, as one step may read several. */
    @Override
    public Set<ModelVersion> readers(String device, String output) {
      @Nullable String tensor = member.step().outputs().get(output);
      boolean mayStay =
          tensor != null
              && !request.outputs().contains(tensor)
              && !tensors.isOnHost(tensor) // An earlier attempt's place is asked for once.
              && tensors.device().map(device::equals).orElse(true);
      return mayStay
          ? members.stream()
              .skip(position + 1L)
              .filter(later -> later.step().inputs().containsValue(tensor))
              .map(later -> later.model().version())
              .collect(Collectors.toSet())
          : Set.of();
    }

    @Override
    public void keep(String output, TensorType type, Shape shape, KeptTensor kept) {
      tensors.put(Objects.requireNonNull(member.step().outputs().get(output)), type, shape, kept);
    }

    @Override
    public void completed(InferenceTimings timings) {
      account.ran(timings);
      account.answered();
      if (statistics.traces()) {
        traced.add(
            new InferenceTimings.Step(
                member.model().version(), beganNanos, System.nanoTime(), timings));
      }
      stepEnded(timings);
    }

    @Override
    public void failed(StatusException error) {
      account.failed(error.status());
      EnsembleRun.this.failed(steps.named(position, error), true);
    }
  }
}
