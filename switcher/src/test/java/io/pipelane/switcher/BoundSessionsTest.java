package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.worker.SessionOverview;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BoundSessionsTest extends BoundSessionsFixture {
  private ImportedModel registered(int number) {
    return registered(number, "structure of " + number);
  }

  private ImportedModel registered(int number, String structure) {
    ImportedModel model = BoundSessions.model(Integer.toString(number), structure, MODEL);
    switcher.register(model);
    return model;
  }

  private Call submit(ImportedModel model) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), 1f), call);
    return call;
  }

  private void infer(ImportedModel model) {
    float number = BoundSessions.number(model.version());
    assertArrayEquals(new float[] {number, number}, submit(model).await());
  }

  private void inferFromManyThreads(List<ImportedModel> models, int count) throws Exception {
    long seed = System.nanoTime();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> clients = new ArrayList<>();
      for (int c = 0; c < 4; c++) {
        Random random = new Random(seed + c);
        clients.add(
            threads.submit(
                () -> {
                  for (int k = 0; k < count; k++) {
                    infer(models.get(random.nextInt(models.size())));
                  }
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
    } catch (Exception e) {
      throw new AssertionError("seed " + seed, e);
    }
  }

  @Test
  void oneModel_isBuiltOncePerLane() throws Exception {
    ImportedModel model = registered(1);
    assertEquals(1, sessions.built.get());
    infer(model);
    assertEquals(1, sessions.built.get(), "an idle lane with a session is preferred");
    inferFromManyThreads(List.of(model), 200);
    assertTrue(sessions.built.get() <= 2, sessions.built + " built for two lanes");
    MemoryOverview overview = switcher.memory();
    assertEquals(sessions.open.get() * SESSION, overview.constantBytes());
    assertEquals(1, overview.sessions().entries().size());
    assertEquals(sessions.open.get(), overview.sessions().entries().getFirst().sessions());
  }

  @Test
  void moreSessionsThanRoom_evictEachOtherAndEveryAnswerIsRight() throws Exception {
    List<ImportedModel> models = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      models.add(registered(i));
    }
    inferFromManyThreads(models, 200);
    SessionOverview overview = switcher.memory().sessions();
    assertTrue(overview.evicted() > 0);
    assertEquals(overview.built(), overview.evicted() + sessions.open.get());
    assertTrue(overview.bytes() <= WORKING);
  }

  @Test
  void variants_interleaved_shareSessionsAndEveryAnswerIsRight() throws Exception {
    List<ImportedModel> models = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      models.add(registered(i, "shared"));
    }
    assertEquals(1, sessions.built.get());
    inferFromManyThreads(models.subList(0, 2), 1_000);
    inferFromManyThreads(models, 500); // Together they are larger than the memory.
    MemoryOverview overview = switcher.memory();
    assertEquals(1, overview.sessions().entries().size());
    assertTrue(switcher.transfers().remaps() > 0);
    assertTrue(switcher.transfers().pagesTakenBack() > 0);
    models.forEach(model -> switcher.deregister(model.version()));
    assertEquals(0, sessions.open.get());
    assertEquals(0, switcher.memory().weights().lentBytes());
  }

  @Test
  void notes_areThoseOfTheStructuresSessions() {
    ImportedModel model = registered(1, "shared");
    ImportedModel variant = registered(2, "shared");
    ModelVersion unknown = new ModelVersion("3", 1);
    assertEquals(List.of(), switcher.notes(model.version()));
    sessions.notes = List.of("not captured: an input is read on the host");
    assertEquals(sessions.notes, switcher.notes(model.version()));
    assertEquals(sessions.notes, switcher.notes(variant.version()));
    assertEquals(List.of(), switcher.notes(unknown));
  }

  @Test
  void register_refusedModel_leavesNothing() {
    ImportedModel model = registered(1);
    infer(model);
    var before = switcher.memory();
    sessions.failures.set(1);
    StatusException error = assertThrows(StatusException.class, () -> registered(2));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertEquals(before.constantBytes(), switcher.memory().constantBytes());
    assertEquals(before.weights(), switcher.memory().weights());
    assertEquals(before.sessions(), switcher.memory().sessions());
  }

  @Test
  void run_sessionCannotBeBuilt_failsAndTheNextRunIsRight() {
    List<ImportedModel> models = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      models.add(registered(i));
    }
    sessions.failures.set(1); // Met by the first of those whose sessions were evicted.
    int failed = 0;
    for (ImportedModel model : models) {
      try {
        infer(model);
      } catch (StatusException e) {
        assertEquals(Status.INTERNAL, e.status());
        failed++;
      }
    }
    assertEquals(1, failed);
    models.forEach(this::infer);
  }

  @Test
  void register_sessionLargerThanWorkingMemory_isRefused() {
    sessions.deviceBytes = WORKING + 1;
    StatusException error = assertThrows(StatusException.class, () -> registered(1));
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    assertEquals(0, switcher.memory().constantBytes());
    assertEquals(0, sessions.open.get());
  }

  /** Once before room is made for it, and once more in that room. */
  @Test
  void register_sessionTakesMoreThanItsRoom_roomIsMadeAgain() {
    sessions.outgrown.set(2);
    infer(registered(1));
    assertEquals(0, sessions.outgrown.get());
  }

  /** Where others hold what a process gives back at its end, room is made once more. */
  @Test
  void register_roomIsLostWithAWorker_roomIsMadeAgain() {
    sessions.outgrown.set(1);
    AtomicInteger builds = new AtomicInteger();
    sessions.inBuild =
        model -> {
          if (builds.incrementAndGet() == 2) { // It is built in its room.
            sessions.outgrown.set(1);
            throw new WorkerLostException("lost on purpose", Blame.OTHERS);
          }
        };
    infer(registered(1));
    assertEquals(4, builds.get());
  }

  @Test
  void run_sessionThatGrows_isChargedAndThenEvicted() {
    ImportedModel model = registered(1);
    sessions.growthPerRun = MIB;
    infer(model);
    assertEquals(0, switcher.memory().sessions().evicted());
    switcher.evict(model.version()); // Waits for the run's end.
    assertEquals(SESSION + MIB, switcher.memory().constantBytes());
    sessions.growthPerRun = WORKING;
    infer(model);
    switcher.evict(model.version());
    assertEquals(1, switcher.memory().sessions().evicted());
    assertEquals(0, switcher.memory().constantBytes());
  }
}
