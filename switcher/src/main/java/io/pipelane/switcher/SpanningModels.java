package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceService.Hold;
import java.util.Collection;
import java.util.Map;

/**
 * Models whose parts, models themselves, are on devices of their own and are switched in or out on
 * all of them (PipeSwitch §4.5). Safe for any thread.
 */
public interface SpanningModels {
  /** Where there are no devices to span. */
  SpanningModels NONE =
      new SpanningModels() {
        @Override
        public void place(String name, Map<String, Integer> deviceOf) {
          throw new StatusException(Status.UNIMPLEMENTED, "there are no devices to span");
        }

        @Override
        public void forget(String name) {}

        @Override
        public Map<String, Integer> deviceOf(String name) {
          return Map.of();
        }

        @Override
        public void requireUsable(String name, Collection<ModelVersion> models) {}

        @Override
        public Hold switchIn(String name, Collection<ModelVersion> models) {
          throw new StatusException(Status.NOT_FOUND, name + " spans no devices");
        }
      };

  /**
   * Has models be on one device each, and nowhere else, from now on; in place of what was said of
   * the same name before. Blocks for a short time where something changes.
   *
   * @param name of what they make together
   * @param deviceOf by the names of models; devices are counted from 0
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when there is no such device, or one of
   *     the models is another one's part; nothing has changed then
   */
  void place(String name, Map<String, Integer> deviceOf);

  /** Lets models be wherever is best again. */
  void forget(String name);

  /** The devices by the names of models, others in place of lost ones; none if it is not placed. */
  Map<String, Integer> deviceOf(String name);

  /**
   * Refuses what cannot be switched in at all. Where a device is lost since, its part is on another
   * one from now on if that has room; blocks for a short time then.
   *
   * @param models its parts, which are in service
   * @throws StatusException {@link Status#UNAVAILABLE} when a lost device has a part that no other
   *     one has room for, {@link Status#NOT_FOUND} when it has not been placed
   */
  void requireUsable(String name, Collection<ModelVersion> models);

  /**
   * Brings a spanning model in on all of its devices, over each one's own link, or on none; blocks
   * while others hold the memory.
   *
   * @param models its parts, which are in service
   * @return runs online requests for them, without a wait in a queue; its weights stay until it is
   *     closed
   * @throws StatusException naming the device that cannot take its part, and why; no part stays
   *     then. As {@link #requireUsable}, too
   */
  Hold switchIn(String name, Collection<ModelVersion> models);
}
