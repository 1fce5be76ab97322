package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Models without sessions, which are made when these are asked. */
class AnnouncedModelsTest extends BoundSessionsFixture {
  private ModelVersion announced(int number) {
    return announced(number, "structure of " + number);
  }

  private ModelVersion announced(int number, String structure) {
    ImportedModel model = BoundSessions.model(Integer.toString(number), structure, MODEL);
    switcher.announce(model, ModelOptions.DEFAULT);
    return model.version();
  }

  private void infer(ModelVersion model) {
    float number = BoundSessions.number(model);
    Call call = new Call();
    switcher.submit(Call.request(model, 1f), call);
    assertArrayEquals(new float[] {number, number}, call.await());
  }

  @Test
  void announcedModel_takesNoMemoryUntilItIsAsked_andIsAnsweredThen() {
    ModelVersion model = announced(1);
    assertEquals(0, sessions.built.get());
    assertEquals(0, switcher.memory().constantBytes());
    infer(model);
    assertEquals(1, sessions.built.get());
  }

  @Test
  void modelBuiltAhead_isNotBuiltAgain_andNoWeightsCome() {
    ModelVersion model = announced(1, "shared");
    ModelVersion variant = announced(2, "shared");
    assertTrue(switcher.standing().buildAhead(model));
    assertTrue(switcher.standing().buildAhead(model));
    assertTrue(switcher.standing().buildAhead(variant));
    assertEquals(1, sessions.built.get());
    assertEquals(0, switcher.memory().weights().lentBytes());
    infer(model);
    infer(variant);
    assertEquals(1, sessions.built.get());
  }

  @Test
  void buildAhead_goesAsFarAsThereIsRoom_andNobodyGivesWay() {
    List<ModelVersion> models = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      models.add(announced(i));
    }
    List<Boolean> built = models.stream().map(switcher.standing()::buildAhead).toList();
    assertEquals(List.of(true, true, true, false, false), built);
    assertEquals(0, switcher.memory().sessions().evicted());
    assertEquals(3, sessions.open.get());
    infer(models.getLast()); // Which makes room.
    assertEquals(1, switcher.memory().sessions().evicted());
  }

  @Test
  void request_forAModelThatIsNotBuilt_overtakesWhatIsBuiltAhead() throws Exception {
    ModelVersion ahead = announced(1);
    ModelVersion asked = announced(2);
    CountDownLatch building = new CountDownLatch(1);
    CountDownLatch answered = new CountDownLatch(1);
    sessions.inBuild =
        model -> {
          if (model.version().equals(ahead)) {
            building.countDown();
            try {
              answered.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          }
        };
    CompletableFuture<Boolean> built =
        CompletableFuture.supplyAsync(() -> switcher.standing().buildAhead(ahead));
    building.await();
    infer(asked);
    assertFalse(built.isDone());
    answered.countDown();
    assertTrue(built.join());
    assertEquals(2, sessions.built.get());
  }

  @Test
  void request_forWhatIsBuiltAheadJustNow_isAnsweredAndNothingIsBuiltForNothing() throws Exception {
    ModelVersion model = announced(1);
    CountDownLatch building = new CountDownLatch(1);
    CountDownLatch asked = new CountDownLatch(1);
    sessions.inBuild =
        any -> {
          building.countDown();
          try {
            asked.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        };
    CompletableFuture<Boolean> built =
        CompletableFuture.supplyAsync(() -> switcher.standing().buildAhead(model));
    building.await();
    Call call = new Call();
    switcher.submit(Call.request(model, 1f), call);
    asked.countDown();
    assertArrayEquals(new float[] {1, 1}, call.await());
    assertTrue(built.join());
    assertTrue(sessions.built.get() <= 2, "one for each lane");
  }

  /** The addresses of its weights must be its own as long as a session is built for them. */
  @Test
  void deregister_ofAModelThatIsBuiltAheadJustNow_waitsForThat() throws Exception {
    ModelVersion model = announced(1);
    CompletableFuture<Boolean> waits = new CompletableFuture<>();
    CompletableFuture<Thread> leaving = new CompletableFuture<>();
    sessions.inBuild =
        any -> {
          Thread thread = Thread.ofPlatform().start(() -> switcher.deregister(model));
          while (!thread.getState().name().contains("WAITING")) {
            Thread.onSpinWait();
          }
          waits.complete(!switcher.memory().weights().entries().isEmpty());
          leaving.complete(thread);
        };
    assertTrue(switcher.standing().buildAhead(model));
    assertTrue(waits.join(), "its addresses are there");
    leaving.join().join();
    assertEquals(0, sessions.open.get());
    assertThrows(StatusException.class, () -> switcher.standing().buildAhead(model));
  }

  @Test
  void buildAhead_ofARefusedModel_saysSoAndLeavesNothing() {
    ModelVersion model = announced(1);
    sessions.failures.set(1);
    StatusException refusal =
        assertThrows(StatusException.class, () -> switcher.standing().buildAhead(model));
    assertEquals(Status.INVALID_ARGUMENT, refusal.status());
    assertEquals(0, switcher.memory().constantBytes());
    infer(model);
  }

  @Test
  void uses_areOfThoseThatWereAsked_theMostPopularIsTheLargest() {
    ModelVersion often = announced(1);
    ModelVersion seldom = announced(2);
    ModelVersion never = announced(3);
    infer(seldom);
    infer(often);
    infer(often);
    infer(often);
    Map<ModelVersion, Double> uses = switcher.appraisal().uses();
    double unknown = Double.NEGATIVE_INFINITY;
    assertTrue(
        uses.getOrDefault(often, unknown) > uses.getOrDefault(seldom, unknown), uses.toString());
    assertFalse(uses.containsKey(never));
    switcher.deregister(often);
    assertFalse(switcher.appraisal().uses().containsKey(often));
  }
}
