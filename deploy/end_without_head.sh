#!/bin/bash
# Ends this worker once it has not reached Ray's head for ten minutes. Such a machine costs as much
# as one that works, and nobody but the head would end it. Started again, it looks for the new head.
#     end_without_head.sh HEAD [PORT] [SECONDS]
port=${2:-6379} most=${3:-600}
echo "$1" > ~/capsweep-head
sudo shutdown -c # cluster.yaml has it end in an hour, for the case that no head ever sets it up
exec 9> ~/capsweep-head.lock
flock --nonblock 9 || exit 0 # the one that runs reads the new head
reached=$SECONDS
while true; do
  head=$(< ~/capsweep-head)
  if timeout 5 bash -c "exec 3<> /dev/tcp/$head/$port" 2> /dev/null; then
    reached=$SECONDS
  elif ((SECONDS - reached >= most)); then # only a look that failed ends a machine
    break
  fi
  sleep "$(awk "BEGIN {print $most / 20}")"
done
echo "$head has not been reached for $most seconds: this machine ends."
sudo shutdown -h now
