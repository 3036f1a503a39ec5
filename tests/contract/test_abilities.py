from wmel.contract.environment import RollsStates, Walkable
from wmel.parts import able


class Walker:
    def displacements(self): ...
    def waypoint(self, states): ...


def test_an_ability_is_having_its_methods():
    assert able(Walker(), Walkable)
    assert not able(Walker(), RollsStates)
    assert not able(object(), Walkable)
