package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

class SequenceLogTest {
  private static final int STATE_BYTES = 1_000;
  private static final int STEP_BYTES = 10;
  private static final int MANY = 32;
  private static final SequenceStep STEP = new SequenceStep("", "s", false, false, List.of());

  private static List<InputTensor> tensor(int bytes) {
    return List.of(
        new InputTensor("x", TensorType.UINT8, Shape.of(bytes), Arena.ofAuto().allocate(bytes)));
  }

  private static InferenceRequest step() {
    return new InferenceRequest(new ModelVersion("m", 1), tensor(STEP_BYTES), List.of("y"));
  }

  private static SequenceLog begun(HostRoom room) {
    return new SequenceLog(room, new SequenceStep("", "s", true, false, tensor(STATE_BYTES)));
  }

  private static void addMany(SequenceLog log) {
    for (int i = 0; i < MANY; i++) {
      assertTrue(log.add(step()));
    }
  }

  @Test
  void replace_noRoomBesideTheOldState_keepsThatAndAllStepsAndIsTriedAgainLater() {
    HostRoom room = new HostRoom(2 * STATE_BYTES + MANY * STEP_BYTES);
    SequenceLog log = begun(room);
    addMany(log);
    assertTrue(log.isLong());
    assertTrue(room.tryTake(STEP_BYTES), "another sequence comes");
    assertFalse(log.replace(tensor(STATE_BYTES)));

    assertFalse(log.isClosed());
    assertEquals(STATE_BYTES + (MANY + 1) * STEP_BYTES, room.takenBytes());
    List<InferenceRequest> all = log.with(step(), STEP);
    assertEquals(MANY + 1, all.size());
    SequenceStep first = all.getFirst().sequence().orElseThrow();
    assertEquals(STATE_BYTES, first.initial().getFirst().data().byteSize());
    assertFalse(log.isLong(), "not after each step");

    addMany(log);
    assertTrue(log.isLong());
    room.giveBack(STEP_BYTES);
    assertFalse(log.replace(tensor(STATE_BYTES)), "the steps have taken the room");
    log.close();
    assertEquals(0, room.takenBytes());
  }

  @Test
  void replace_thereIsRoom_givesTheOldStateAndTheStepsBack() {
    HostRoom room = new HostRoom(2 * STATE_BYTES + MANY * STEP_BYTES);
    SequenceLog log = begun(room);
    addMany(log);
    assertTrue(log.replace(tensor(STATE_BYTES)));
    assertEquals(STATE_BYTES, room.takenBytes());
    assertEquals(1, log.with(step(), STEP).size());
  }

  @Test
  void begin_noRoomForTheFirstState_nothingGoesOnFromThere() {
    HostRoom room = new HostRoom(STATE_BYTES - 1);
    SequenceLog log = begun(room);
    assertTrue(log.isClosed());
    assertFalse(log.add(step()));
    assertEquals(0, room.takenBytes());
  }
}
