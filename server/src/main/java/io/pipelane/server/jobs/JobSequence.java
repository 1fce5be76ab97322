package io.pipelane.server.jobs;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The state of a job whose model keeps one: a sequence of the job's own, from a checkpoint on.
 * Belongs to the job's thread.
 */
final class JobSequence implements Journal.Checkpoint {
  /*
   * Checkpoint n lies in one of two files in turn, as progress n does, so the one that counts is
   * left alone while the next is written. It is there before the progress that needs it.
   */
  private static final System.Logger LOG = System.getLogger(JobSequence.class.getName());

  private final InferenceService service;
  private final ModelVersion model;
  private final String id;
  private final Path folder;
  private final long checkpoint;
  private final JobStep.Hook hook;
  private final boolean ofSeveralModels;
  private boolean isBegun;
  private boolean isTaken;
  private boolean isBeginning;

  /**
   * A sequence that has not begun.
   *
   * @param id no other sequence's; clients do not know it
   * @param folder the job's
   * @param ofSeveralModels whether an item is a step of several models' states, one after another
   * @param checkpoint number of the progress that the job goes on from; 0 for the beginning
   */
  JobSequence(
      InferenceService service,
      ModelVersion model,
      boolean ofSeveralModels,
      String id,
      Path folder,
      long checkpoint,
      JobStep.Hook hook) {
    this.service = service;
    this.model = model;
    this.ofSeveralModels = ofSeveralModels;
    this.id = id;
    this.folder = folder;
    this.checkpoint = checkpoint;
    this.hook = hook;
  }

  /** What the next item is. */
  SequenceStep next() throws IOException {
    isTaken = false;
    isBeginning = !isBegun;
    if (isBegun) {
      return new SequenceStep(id, false, false);
    }
    Path file = file(folder, checkpoint);
    List<InputTensor> initial = hasCheckpoint(file) ? StateFile.read(file) : List.of();
    return new SequenceStep(id, true, false, initial);
  }

  /** An item has been taken as {@link #next} said. */
  void begun() {
    isBegun = true;
    isTaken = true;
  }

  private boolean hasCheckpoint(Path file) {
    return checkpoint > 0 && Files.exists(file);
  }

  /** Whether it has begun, and the state is not there that the items so far have led to. */
  boolean isLost() {
    return isBegun && !service.sequence(model, id).map(SequenceState::isWhole).orElse(false);
  }

  /**
   * Whether the latest item, which has failed, may have changed the state: that of the models
   * before the one that failed.
   */
  boolean mayHaveChanged() {
    return isTaken && ofSeveralModels;
  }

  /**
   * Has the next item begin the state, where the latest was to and has failed: it may have begun
   * with some of several models.
   *
   * @return false where the latest was not to
   */
  boolean undoBeginning() {
    if (isBeginning) {
      end();
      isBegun = false;
    }
    return isBeginning;
  }

  @Override
  public boolean write(long number) throws IOException {
    hook.before(JobStep.WRITE_STATE);
    Path target = file(folder, number);
    if (isBegun) {
      return writeState(target);
    }
    Path source = file(folder, checkpoint);
    if (hasCheckpoint(source)) {
      WholeFile.write(target, to -> StateFile.write(to, StateFile.read(source)));
    } else {
      Files.deleteIfExists(target);
    }
    return true;
  }

  /** False also where its device does not give it: the job goes back, as to any lost state. */
  private boolean writeState(Path target) throws IOException {
    Optional<SequenceState> state = service.sequence(model, id);
    try {
      return state.isPresent()
          && state.get().read(all -> WholeFile.write(target, to -> StateFile.write(to, all)));
    } catch (StatusException e) {
      LOG.log(Level.WARNING, "a checkpoint of " + id + " was not written", e);
      return false;
    }
  }

  /** Gives the state back. */
  void end() {
    service.sequence(model, id).ifPresent(SequenceState::end);
  }

  /** Where a checkpoint lies. */
  static Path file(Path folder, long number) {
    return folder.resolve("state-" + number % 2 + ".safetensors");
  }
}
